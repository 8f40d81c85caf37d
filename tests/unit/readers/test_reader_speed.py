"""Five million rows of a thousand classes: under 2 GB, and within three times pyarrow's own reading time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

ROWS = 5_000_000

OWN = """
import sys, time
start = time.perf_counter()
{read}
print(time.perf_counter() - start)
"""
OURS = """
import sys, time
start = time.perf_counter()
from pathlib import Path
from onetag.core.reading import ReadOptions
from onetag.readers.{module} import {name}
split = {name}().read(Path(sys.argv[1]), ReadOptions()).only()
took = time.perf_counter() - start
assert len(split) == int(sys.argv[2]) and len(split.classes) == 1000
assert str(split.paths[3]).endswith(split.ids[3])
print(took)
import numpy as np
np.asarray(split.ids), np.asarray(split.paths)
# Not getrusage: its maximum is inherited from the process that started this one, and that has torch and all other tests in it.
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""


def said(code: str, path: Path) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(ROWS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc, which is not here")
def test_five_million_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    with csv.open("w") as file:
        file.write("path,tags\n")
        for start in range(0, ROWS, 100_000):
            codes, noise = rng.integers(0, 1000, 100_000).tolist(), rng.integers(0, 2**40, 100_000).tolist()
            pairs = enumerate(zip(noise, codes, strict=True), start)
            file.write("".join(f"images/{x:011x}_{at:08d}.jpg,class_{code:03d}\n" for at, (x, code) in pairs))
    pq.write_table(arrow_csv.read_csv(csv), parquet)
    for path, own, ours in (
        (csv, "import pyarrow.csv as p; p.read_csv(sys.argv[1])", OURS.format(module="csv", name="Csv")),
        (
            parquet,
            "import pyarrow.parquet as p; p.read_table(sys.argv[1])",
            OURS.format(module="parquet", name="Parquet"),
        ),
    ):
        rounds: list[tuple[float, ...]] = []
        fastest = [0.0, 1.0, 0.0]
        # The fastest of interleaved rounds; more of them where others keep the machine busy.
        while len(rounds) < 5 or (fastest[1] >= 3 * fastest[0] and len(rounds) < 20):
            rounds.append((said(OWN.format(read=own), path)[0], *said(ours, path)))
            fastest = [min(part) for part in zip(*rounds, strict=True)]
        assert max(memory for *_, memory in rounds) < 2e9
        assert fastest[1] < 3 * fastest[0], f"{path.suffix}: {fastest[1]:.2f} s, pyarrow takes {fastest[0]:.2f} s"
        print(f"{path.suffix}: {fastest[1]:.2f} s, pyarrow {fastest[0]:.2f} s, {fastest[2] / 1e6:.0f} MB")
