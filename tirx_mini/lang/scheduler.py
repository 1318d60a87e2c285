"""Tile schedulers: the order in which persistent CTAs or clusters compute output tiles."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Expr, TirxError
from tirx_mini.script import tirx as Tx

from .arguments import Integer, check_count, check_label, given


class ClusterPersistentScheduler2D:
    """Distributes the tiles of a num_m_tiles × num_n_tiles grid to `num_clusters` clusters, in an L2-friendly order.

    The order is group-major: each group of `l2_group_size` tile rows is traversed column by column, so concurrent tiles
    share rows of A and columns of B. Cluster c computes the tiles c, c + num_clusters, c + 2 num_clusters, …

    Its attributes `m_idx` and `n_idx` are the row and the column of the current tile.

    prefix: the prefix of the names of its three variables.
    num_m_tiles, num_n_tiles: the number of tiles along M and along N.
    num_clusters: the number of clusters, or of CTAs, in the grid.
    l2_group_size: the number of tile rows in a group.

    Cost: three registers of each thread. A step computes two divisions by constants, and two by the rows of a group.

    Example:

        scheduler = ClusterPersistentScheduler2D("tile", num_m_tiles=8, num_n_tiles=8, num_clusters=4)
        scheduler.init(bx)
        while scheduler.valid():
            row = Tx.meta_var(scheduler.m_idx * 128)
            scheduler.next_tile()
    """

    def __init__(
        self, prefix: str, num_m_tiles: int, num_n_tiles: int, num_clusters: int, l2_group_size: int = 8
    ) -> None:
        call = 'ClusterPersistentScheduler2D("tile", M // BLK_M, N // BLK_N, num_clusters)'
        check_label("the first argument of ClusterPersistentScheduler2D, the prefix of its names,", prefix, call)
        for name, value in (
            ("num_m_tiles", num_m_tiles),
            ("num_n_tiles", num_n_tiles),
            ("l2_group_size", l2_group_size),
            ("num_clusters", num_clusters),
        ):
            empty = "the matrix may be smaller than one tile" if isinstance(value, int) and value == 0 else None
            check_count(f"{name} of ClusterPersistentScheduler2D", value, empty or _divided(value) or f"write {call}")
        self.num_m_tiles, self.num_n_tiles = num_m_tiles, num_n_tiles
        self.num_clusters = num_clusters
        self.group_rows = min(l2_group_size, num_m_tiles)
        self.linear_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_linear_idx")
        self.m_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_m_idx")
        self.n_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_n_idx")

    @property
    def num_tiles(self) -> int:
        """The number of tiles of the whole grid."""
        return self.num_m_tiles * self.num_n_tiles

    @Tx.inline
    def init(self, cluster_id: Integer) -> None:
        """Select the first tile of a cluster.

        cluster_id: the index of the executing cluster in the grid.
        """
        _check_id(cluster_id)
        self.linear_idx = cluster_id
        self._locate()

    @Tx.inline
    def next_tile(self) -> None:
        """Advance to the next tile of this cluster, `num_clusters` further."""
        self.linear_idx = self.linear_idx + self.num_clusters
        self._locate()

    @Tx.inline
    def valid(self) -> Any:
        """Whether the current tile exists: the condition of the loop over tiles."""
        return self.linear_idx < self.num_tiles

    @Tx.inline
    def _locate(self) -> None:
        """Compute the row and column of tile `linear_idx`. The last group has the remaining rows."""
        group = Tx.meta_var(self.linear_idx // (self.group_rows * self.num_n_tiles))
        within = Tx.meta_var(self.linear_idx % (self.group_rows * self.num_n_tiles))
        rows = Tx.meta_var(self._rows(group))
        self.m_idx = group * self.group_rows + within % rows
        self.n_idx = within // rows

    def _rows(self, group: Any) -> Any:
        full_groups, left = divmod(self.num_m_tiles, self.group_rows)
        return Tx.if_then_else(group < full_groups, self.group_rows, left) if left else self.group_rows


def _divided(value: Any) -> str | None:
    """The hint for a count that is a float, as the division of ints by / gives it."""
    return "divide with //, as in M // BLK_M" if isinstance(value, float) else None


def _check_id(cluster_id: Any) -> None:
    if not isinstance(cluster_id, (Expr, int)):
        raise TirxError(
            f"init of ClusterPersistentScheduler2D needs the index of the cluster, but {given(cluster_id)}",
            hint='write scheduler.init(bx), with bx = Tx.cta_id([num_clusters], parent="kernel")',
        )
