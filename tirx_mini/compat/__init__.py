"""The import paths of other projects, mapped to tirx_mini."""
