//! Which of the parallel lanes each way takes, so that no two lie on one another.

/// Lanes side by side; with more ways than fit, some share.
pub(super) const MOST: usize = 40;

/// The lane of each vertical span, from 0; short spans get the inner lanes. Also how many lanes there are.
pub(super) fn assign(spans: &[(usize, usize)]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|at| spans.get(*at).map(|(a, b)| (b - a, *a)));
    let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut chosen = vec![0; spans.len()];
    for at in order {
        let Some(&(from, to)) = spans.get(at) else { continue };
        let free = lanes.iter().position(|taken| taken.iter().all(|(a, b)| to < *a || *b < from));
        let lane = match free {
            Some(lane) => lane,
            None if lanes.len() < MOST => {
                lanes.push(Vec::new());
                lanes.len() - 1
            }
            None => at % MOST,
        };
        if let (Some(taken), Some(mine)) = (lanes.get_mut(lane), chosen.get_mut(at)) {
            taken.push((from, to));
            *mine = lane;
        }
    }
    (chosen, lanes.len())
}

#[cfg(test)]
mod tests {
    use super::assign;

    #[test]
    fn overlapping_spans_get_lanes_of_their_own() {
        let spans = [(0, 100), (10, 20), (30, 40), (15, 35)];
        let (lanes, many) = assign(&spans);
        assert_eq!(many, 3);
        for (i, a) in spans.iter().enumerate() {
            for (j, b) in spans.iter().enumerate().skip(i + 1) {
                assert!(lanes[i] != lanes[j] || a.1 < b.0 || b.1 < a.0, "{a:?} and {b:?} share a lane");
            }
        }
    }
}
