"""Never end to be imported."""

while True:
    pass
