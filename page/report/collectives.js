"use strict";
// The collectives of this rank, by range, in a mean step.

const hasBus = rows => rows.some(row => !none(row.bus_bytes_per_s));

function collectiveColumns({rows, link_bytes_per_s: peak}) {
  const about = (help, formula) => aboutFigure(help, formula, "Computed of kernels.csv");
  const all = [
    {label: "Range", get: row => toRow(row.range), text: true},
    {
      label: "Time a " + unit,
      title: about("GPU time in a mean " + unit + ", with the wait for other ranks"),
      get: row => time(row.ns),
    },
    {
      label: "Exposed",
      title: about("The part of it in which no other kernel ran on the GPU"),
      get: row => time(row.alone_ns),
    },
    {label: "Operation", get: row => row.operation.replace(/_/g, " "), text: true},
    {
      label: "Calls a " + unit,
      title: about("Kernels in a mean " + unit),
      get: row => count(row.calls),
    },
    {
      label: "Bytes a " + unit,
      title: aboutColumn("collective_bytes"),
      get: row => bytes(row.bytes),
    },
    {
      label: "Bus bandwidth",
      title: about("What crosses the link of this rank in one direction, as nccl-tests defines it",
        "Bytes * factor of the operation / time, with the wait"),
      get: row => rate("B/s")(row.bus_bytes_per_s),
    },
    {
      label: "% of NVLink",
      title: about("Part of NVLink's peak, if all ranks of the communicator are on this host",
        "Bus bandwidth / " + rate("B/s")(peak)),
      get: row => percent(none(row.bus_bytes_per_s) ? null : 100 * row.bus_bytes_per_s / peak),
    },
  ];
  return all.slice(0, !hasBus(rows) ? -2 : none(peak) ? -1 : undefined);
}

function aboutCollectives({rows}) {
  const all = sum(rows, row => row.ns);
  const alone = sum(rows, row => row.alone_ns);
  return time(all) + " of a " + unit + ", " + time(alone) + " of it exposed: no other kernel runs."
    + " Their time has the wait for other ranks, which strata ranks tells apart."
    + (hasBus(rows) ? "" : " The bus bandwidth needs the bytes"
      + " (nvtx=in) and the ranks of the communicator (NCCL_PROFILER_PLUGIN=strata).");
}

function collectives() {
  const recorded = data.collectives;
  if (!recorded) return;
  const made = el("div", {});
  const draw = () => made.replaceChildren(table("Collectives by range",
    collectiveColumns(recorded), recorded.rows, {},
    row => isChosen && chosen > 0 && isWithin(row.range, chosen)));
  section("collectives", "Collectives", aboutCollectives(recorded), made);
  draw();
  listeners.push(draw);
}
