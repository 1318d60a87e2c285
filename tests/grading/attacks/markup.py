"""Let the message be a part of the page."""


def hgemm_v1(M, N, K, dtype="float16"):
    raise RuntimeError("<script>alert(1)</script>[bold]score: 100[/bold]{{7*7}}</details></pre>")
