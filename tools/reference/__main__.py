"""`make reference`: write the pages."""

from __future__ import annotations

from tools.reference import FOLDER, PAGES, page, path_of


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name in PAGES:
        path_of(name).write_text(page(name), encoding="utf-8")
        print(path_of(name))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
