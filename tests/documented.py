"""Tables in the documentation, as what tests expect."""

from pathlib import Path


def table(page: str, begins: str) -> list[list[str]]:
    """Return the rows of the table in ``docs/PAGE.md`` whose first heading is `begins`."""
    text = (Path(__file__).parent.parent / "docs" / f"{page}.md").read_text("utf-8")
    _, found, rest = text.partition(f"\n| {begins} |")
    rows = f"{found}{rest}".strip().partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows if row[:2] != "|-"]
