"""GitHub's own words: errors, limits, addresses of its documentation."""

from __future__ import annotations

from typing import Any

DOCS = "https://docs.github.com/rest"

SECONDARY_LIMIT = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID "
    "A1B2:3C4D5E:6F7A8B:9C0D1E:67E0F1A2."
)
PRIMARY_LIMIT = "API rate limit exceeded for installation ID 41898282."
LOCKED = "Unable to create comment because issue is locked."
NO_PULLS_BY_ACTIONS = "GitHub Actions is not permitted to create or approve pull requests."
TOO_LONG = "is too long (maximum is 65536 characters)"
BAD_GATEWAY = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    "<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>"
)
UNICORN = (
    "<!DOCTYPE html>\n<html>\n  <head><title>Unicorn! &middot; GitHub</title></head>\n"
    "  <body><p>We had issues producing the response to your request.</p></body>\n</html>\n"
)

# What a status says when a test names the status only.
USUAL: dict[int, str] = {
    400: "Problems parsing JSON",
    401: "Bad credentials",
    403: "Resource not accessible by integration",
    404: "Not Found",
    409: "Conflict",
    410: "This issue was deleted",
    422: "Validation Failed",
    429: SECONDARY_LIMIT,
    500: "Server Error",
    503: "Service unavailable",
}


class Refusal(Exception):
    """An answer other than success, raised by whoever decides it."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: list[dict[str, str]] | None = None,
        docs: str = DOCS,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers: dict[str, str] = {}
        self.body: dict[str, Any] = {"message": message, **more}
        if errors is not None:
            self.body["errors"] = errors
        self.body["documentation_url"] = docs
        # Newer answers repeat the status as text, except those about validation and redirects.
        if status not in (301, 307, 422):
            self.body["status"] = str(status)


def not_found() -> Refusal:
    return Refusal(404, "Not Found")


def invalid(resource: str, field: str, code: str = "invalid", message: str = "") -> Refusal:
    """422 Validation Failed with one error."""
    error = {"resource": resource, "code": code, "field": field}
    if not field:
        del error["field"]
    if message:
        error["message"] = message
    return Refusal(422, "Validation Failed", errors=[error])
