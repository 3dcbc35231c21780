"""Table 5: what each component of Emu adds, with a Wilcoxon test over the directions."""

from emu_core.bench.cells import Kind
from emu_core.bench.marks import level_mark
from emu_core.bench.paper import paper_numbers
from emu_core.bench.results import Results
from emu_core.bench.table import Table, not_measured
from emu_core.evaluation.significance import wilcoxon

_COMPONENTS = (
    ("language discriminator", "emu", "emu-without-ld"),
    ("center loss", "emu-without-ld", "emu-without-ld-cl"),
)
NOTE = (
    "Points of Acc@1 that are lost when the component is taken out, mean over the directions of Table 2 and over "
    "seeds; below 0 the system is better without it. *** p < 0.01, ** p < 0.05, * p < 0.10 by Wilcoxon's signed-rank "
    "test over the directions, which share their test sentences and so are not independent: read the p-values as the "
    "paper's, not as proof."
)


def table_5(results: Results) -> Table:
    """Our own Table 5, the paper's drops beside it."""
    datasets = list(paper_numbers()["table1"])
    head = ("component", "drop", "p (Wilcoxon)", "directions that differ", *(f"paper: {d}" for d in datasets))
    rows, data = [], {}
    for component, with_it, without_it in _COMPONENTS:
        both = [results.row(Kind.METHOD, method) for method in (with_it, without_it)]
        reason = next((row.reason for row in both if not row.cells), "")
        if reason:
            rows.append(not_measured(component, reason, len(head)))
            continue
        means = [row.accuracy(results.directions).mean(axis=0) for row in both]
        drops = means[0] - means[1]
        test = wilcoxon(drops)
        printed = paper_numbers()["table5"][component]
        rows.append(
            (
                component,
                f"{drops.mean():+.2f}{level_mark(test.p_value)}",
                f"{test.p_value:.3f}",
                f"{test.n} of {len(drops)}",
                *(f"{printed[d]['drop']:+.2f}{printed[d]['mark']}" for d in datasets),
            )
        )
        data[component] = {
            "drop": float(drops.mean()),
            "p_value": test.p_value,
            "directions": dict(zip(results.directions, drops.tolist(), strict=True)),
        }
    return Table("table5", "Table 5: ablation", head, tuple(rows), notes=(NOTE,), data=data)
