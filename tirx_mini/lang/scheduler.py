"""Tile schedulers: the order in which persistent CTAs or clusters compute output tiles."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import TirxError
from tirx_mini.script import tirx as Tx


class ClusterPersistentScheduler2D:
    """Distributes the tiles of a num_m_tiles × num_n_tiles grid to `num_clusters` clusters, in an L2-friendly order.

    The order is group-major: each group of `l2_group_size` tile rows is traversed column by column, so concurrent tiles
    share rows of A and columns of B. Cluster c computes the tiles c, c + num_clusters, c + 2 num_clusters, …

    m_idx, n_idx: the row and column of the current tile.
    valid: whether the current tile exists.
    """

    def __init__(
        self, prefix: str, num_m_tiles: int, num_n_tiles: int, num_clusters: int, l2_group_size: int = 8
    ) -> None:
        for name, value in (
            ("num_m_tiles", num_m_tiles),
            ("num_n_tiles", num_n_tiles),
            ("l2_group_size", l2_group_size),
            ("num_clusters", num_clusters),
        ):
            if not isinstance(value, int) or value < 1:
                raise TirxError(
                    f"{name} of the tile scheduler must be at least 1, but is {value!r}",
                    hint="the matrix may be smaller than one tile",
                )
        self.num_m_tiles, self.num_n_tiles = num_m_tiles, num_n_tiles
        self.num_clusters = num_clusters
        self.group_rows = min(l2_group_size, num_m_tiles)
        self.linear_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_linear_idx")
        self.m_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_m_idx")
        self.n_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_n_idx")

    @property
    def num_tiles(self) -> int:
        return self.num_m_tiles * self.num_n_tiles

    @Tx.inline
    def init(self, cluster_id: Any) -> None:
        """Select the first tile of cluster `cluster_id`."""
        self.linear_idx = cluster_id
        self._locate()

    @Tx.inline
    def next_tile(self) -> None:
        """Advance to the next tile of this cluster."""
        self.linear_idx = self.linear_idx + self.num_clusters
        self._locate()

    @Tx.inline
    def valid(self) -> Any:
        """Whether the current tile exists."""
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
