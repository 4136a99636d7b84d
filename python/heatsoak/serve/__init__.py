"""Shows past and running recordings of one directory in a browser on this machine.

`library` finds the recordings, and makes and caches their pages, `following` sends updates of
running recordings, `listing` is the index page, `app` answers requests.
"""

from heatsoak.serve.app import make_app, serve
from heatsoak.serve.library import Library

__all__ = ["Library", "make_app", "serve"]
