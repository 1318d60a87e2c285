"""The error that stops the server before it serves the page."""


class PlayError(Exception):
    """The error for a page that cannot be served; the message is one sentence."""
