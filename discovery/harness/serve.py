"""Serves the ASGI application that app.py builds, on 127.0.0.1.

When it accepts connections, it prints "listening on http://127.0.0.1:PORT". The log goes to
standard error. On SIGTERM, it exits within about two seconds with status 0.
"""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys

import uvicorn


class Server(uvicorn.Server):
    """Prints a line to standard output when it accepts connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and sockets:
            print("listening on http://%s:%d" % sockets[0].getsockname(), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="the port; 0, the default, selects a free one")
    parser.add_argument("--app", default=os.getcwd(), help="the directory of app.py (default: the current directory)")
    args = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.INFO)

    # uvicorn raises the signal again after it has shut down. The handler then exits with status 0.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))

    sys.path.insert(0, args.app)
    from app import build  # after the signals: importing an integration takes seconds

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", args.port))
        config = uvicorn.Config(build(), log_config=None, timeout_graceful_shutdown=1)
        asyncio.run(Server(config).serve(sockets=[listener]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
