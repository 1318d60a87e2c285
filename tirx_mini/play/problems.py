"""What keeps the page from being served."""


class PlayError(Exception):
    """The error for a page that cannot be served; the message is one sentence."""
