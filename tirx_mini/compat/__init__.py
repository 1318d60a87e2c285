"""Other projects' names for what tirx_mini has."""
