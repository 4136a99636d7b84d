"""Past and running recordings of one directory, in a browser on this machine.

`library` says what may be shown, `shelf` makes pages of it, `following` tells what a running
recording brings, `listing` is the page of contents, `app` answers requests.
"""

from heatsoak.serve.app import make_app
from heatsoak.serve.library import Library
from heatsoak.serve.server import serve

__all__ = ["Library", "make_app", "serve"]
