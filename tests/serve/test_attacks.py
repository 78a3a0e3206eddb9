"""A sample of the requests that mean no good; `make torture` sends ten thousand."""

from attacks import attack


def test_mutated_requests_neither_crash_nor_break_out(address, capfd):
    found = attack(int(address.rsplit(":", 1)[1]), 250, seed=7)
    assert found["200"] > 20
    assert found["422"] > 20
    assert found["404"] > 5
    assert "500" not in found
    assert "Traceback" not in capfd.readouterr().err
