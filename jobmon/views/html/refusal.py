"""What a browser shows when a request is refused. It loads no style sheet: whoever is refused gets none."""

from __future__ import annotations

from http import HTTPStatus

from jobmon_core.app.web.serve import Response

_WHY_INVALID = (
    "A token works once, within 15 minutes, in the browser that opens the address. Press Enter where "
    "<code>jobmon web</code> runs to get another. If you have just come by a link, <a href='/'>go on</a>."
)
_TEXTS = {
    HTTPStatus.UNAUTHORIZED: (
        "This address is not valid",
        _WHY_INVALID,
    ),
    HTTPStatus.FORBIDDEN: ("This was not done", "The request did not come from a page of this server."),
    HTTPStatus.NOT_FOUND: ("There is no such page", '<a href="/">Show the jobs</a>.'),
    HTTPStatus.MISDIRECTED_REQUEST: (
        "Unknown host",
        "This server answers only as localhost and 127.0.0.1.",
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        "Too busy, or the pages cannot be made",
        "Reload this page in a few seconds. If that does not help, see what <code>jobmon web</code> printed.",
    ),
    HTTPStatus.GATEWAY_TIMEOUT: (
        "No answer in time",
        "Reading jobmon's files takes long: a file system may hang. Reload this page to try again.",
    ),
}


def refusal(status: HTTPStatus) -> Response:
    """Return the page for a refused request."""
    title, text = _TEXTS.get(status, (status.phrase, "The request was not understood."))
    body = (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/>'
        '<meta name="color-scheme" content="light dark"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{title} · jobmon</title></head><body><h1>{title}</h1><p>{text}</p></body></html>\n"
    )
    return Response(body, status)
