use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn config(user_pages: u32, blocks: u32, pages_per_block: u32) -> FtlConfig {
    FtlConfig {
        user_pages,
        blocks,
        pages_per_block,
        unit_pages: 8,
        policy: Policy::Greedy,
        cache: None,
    }
}

/// Write a page as a host does that waits for collection; it never waits for long.
fn write(ftl: &mut Ftl, lpn: u32) -> Run {
    make_room(ftl);
    ftl.write(lpn, 1)
}

fn make_room(ftl: &mut Ftl) {
    let mut steps = 0;
    while ftl.must_collect() {
        let step = ftl.collect_unit().expect("something to collect");
        assert!(step.moved > 0 || step.erased.is_some());
        steps += 1;
        // Each victim wins at least a page, and the host needs at most a block of them.
        let pages = ftl.config().pages_per_block;
        assert!(steps <= (pages + 1) * (pages + 1), "no way out");
    }
}

fn fill(ftl: &mut Ftl) {
    let pages = ftl.config().user_pages;
    let mut lpn = 0;
    while lpn < pages {
        make_room(ftl);
        lpn += ftl.write(lpn, pages - lpn).pages;
    }
}

/// Write amplification over `writes` pages that `next` draws, after as many as `warm`.
fn amplification(
    ftl: &mut Ftl,
    warm: u64,
    writes: u64,
    mut next: impl FnMut(&mut fastrand::Rng) -> u32,
) -> f64 {
    let mut random = fastrand::Rng::with_seed(7);
    let mut ahead = [0; 32];
    ahead.fill_with(|| next(&mut random));
    let mut before = ftl.counters();
    for count in 0..warm + writes {
        if count == warm {
            before = ftl.counters();
        }
        let lpn = &mut ahead[count as usize % 32];
        write(ftl, *lpn);
        *lpn = next(&mut random);
        ftl.prefetch(*lpn);
    }
    let after = ftl.counters();
    assert_eq!(after.host_pages - before.host_pages, writes);
    1.0 + (after.moved_pages - before.moved_pages) as f64 / writes as f64
}

/// Lambert's W on the principal branch, by Halley's iteration from its series at -1/e.
fn lambert_w(x: f64) -> f64 {
    let mut w = (2.0 * (1.0 + std::f64::consts::E * x)).sqrt() - 1.0;
    for _ in 0..50 {
        let f = w * w.exp() - x;
        w -= f / (w.exp() * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0));
    }
    w
}

/// Greedy collection under uniformly random writes (Desnoyers, SYSTOR 2012).
fn desnoyers(config: &FtlConfig) -> f64 {
    let pages = f64::from(config.pages_per_block);
    let raw = f64::from(config.blocks) * pages;
    let alpha = raw / f64::from(config.user_pages);
    let scaled = (1.0 + 0.5 / pages) * alpha;
    let x0 = 0.5 - pages / alpha * lambert_w(-scaled * (-scaled).exp());
    pages / (pages - (x0 - 1.0))
}

/// The formula knows no block that is open, which is why there have to be some 200 blocks of
/// spare.
fn matches_desnoyers(pages_per_block: u32) {
    // Small blocks are cheap to have many of.
    let times = 16_384 / pages_per_block;
    for (alpha, blocks) in [(1.0735, 3072), (1.15, 1536), (1.28, 1024)] {
        let blocks = blocks * times.min(4);
        let user_pages = f64::from(blocks * pages_per_block) / alpha;
        let config = config(user_pages as u32, blocks, pages_per_block);
        let mut ftl = Ftl::new(&config).unwrap();
        fill(&mut ftl);
        let expected = desnoyers(&config);
        // Host writes while all of the flash is written once.
        let life = f64::from(blocks * pages_per_block) / expected;
        let (warm, writes) = (5.0 * life, 2.0 * life);
        let measured = amplification(&mut ftl, warm as u64, writes as u64, |random| {
            random.u32(0..config.user_pages)
        });
        let error = measured / expected - 1.0;
        println!("{pages_per_block} x {alpha}: {measured:.4}, {expected:.4}, {error:+.5}");
        assert!(error.abs() < 0.005, "{measured} is not {expected}");
    }
}

#[test]
fn amplification_of_blocks_of_1024_pages() {
    matches_desnoyers(1024);
}

#[test]
fn amplification_of_blocks_of_4096_pages() {
    matches_desnoyers(4096);
}

#[test]
fn amplification_of_blocks_of_16384_pages() {
    matches_desnoyers(16_384);
}

#[test]
fn the_formula_gives_known_values() {
    for (pages_per_block, expected) in [(1024, 7.4257), (4096, 7.4644), (16_384, 7.4741)] {
        let blocks = 107_350;
        let config = config(100_000 * pages_per_block, blocks, pages_per_block);
        assert!((desnoyers(&config) - expected).abs() < 1e-3);
    }
}

#[test]
fn overwriting_in_order_moves_nothing() {
    for unit_pages in [1, 8, 24] {
        let config = FtlConfig {
            unit_pages,
            ..config(28_000, 30, 1024)
        };
        let mut ftl = Ftl::new(&config).unwrap();
        for _ in 0..5 {
            fill(&mut ftl);
        }
        assert_eq!(ftl.counters().moved_pages, 0);
        assert!(ftl.counters().erased_blocks >= 100);
    }
}

#[test]
fn a_trimmed_drive_moves_nothing() {
    let config = config(28_000, 30, 1024);
    let mut ftl = Ftl::new(&config).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..100_000 {
        write(&mut ftl, random.u32(0..28_000));
    }
    ftl.trim(0, 28_000);
    assert_eq!(ftl.valid_pages(), 0);
    let before = ftl.counters();
    fill(&mut ftl);
    assert_eq!(ftl.counters().moved_pages, before.moved_pages);
}

#[test]
fn cost_and_benefit_against_greedy() {
    let measure = |policy, hot: bool| {
        let config = FtlConfig {
            policy,
            ..config(460_000, 512, 1024)
        };
        let mut ftl = Ftl::new(&config).unwrap();
        fill(&mut ftl);
        amplification(&mut ftl, 3_000_000, 2_000_000, |random| {
            // 80 % of the writes go to 20 % of the pages.
            match hot {
                false => random.u32(0..460_000),
                true if random.u32(0..10) < 8 => random.u32(0..92_000),
                true => random.u32(92_000..460_000),
            }
        })
    };
    let greedy = measure(Policy::Greedy, false);
    let benefit = measure(Policy::CostBenefit, false);
    println!("uniform: greedy {greedy:.3}, cost-benefit {benefit:.3}");
    assert!(benefit < greedy * 1.05);
    let greedy = measure(Policy::Greedy, true);
    let benefit = measure(Policy::CostBenefit, true);
    println!("80/20: greedy {greedy:.3}, cost-benefit {benefit:.3}");
    assert!(benefit < greedy);
}

#[test]
fn runs_equal_single_writes() {
    let config = FtlConfig {
        cache: Some(Cache {
            kind: CacheKind::Dynamic,
            pages: 1000,
            bits: 3,
            slc_unit_pages: 3,
        }),
        ..config(3000, 16, 256)
    };
    let mut runs = Ftl::new(&config).unwrap();
    let mut singles = Ftl::new(&config).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..3000 {
        let (lpn, count) = (random.u32(0..2960), random.u32(1..40));
        let mut done = 0;
        while done < count {
            make_room(&mut runs);
            let run = runs.write(lpn + done, count - done);
            let mut ends = run.ends_of_units().peekable();
            for page in 0..run.pages {
                let placed = write(&mut singles, lpn + done + page);
                assert_eq!(placed.ppn, run.ppn + page);
                let full = placed.ends_of_units().next().is_some();
                assert_eq!(full, ends.next_if_eq(&(page + 1)).is_some());
            }
            assert_eq!(ends.next(), None);
            done += run.pages;
        }
    }
    assert_eq!(runs.counters(), singles.counters());
}

#[test]
fn a_static_cache_is_used_in_turn_and_a_full_one_passed() {
    let cache = Cache {
        kind: CacheKind::Static,
        pages: 1000,
        bits: 3,
        slc_unit_pages: 4,
    };
    let config = FtlConfig {
        cache: Some(cache),
        ..config(14_000, 16, 1024)
    };
    let mut ftl = Ftl::new(&config).unwrap();
    assert_eq!(ftl.blocks(), 19);
    for lpn in 0..1000 {
        assert!(ftl.writes_go_to_cache());
        let placed = ftl.write(lpn, 1);
        assert!(ftl.is_slc(placed.ppn) && placed.ppn >= 16 << 10);
    }
    assert!(!ftl.writes_go_to_cache());
    let placed = ftl.write(1000, 1);
    assert!(!ftl.is_slc(placed.ppn));
    assert_eq!(ftl.cached_pages(), 1000);
    while ftl.can_fold() {
        assert!(ftl.fold_unit().unwrap().was_slc);
    }
    assert_eq!(ftl.fold_unit(), None);
    assert_eq!((ftl.cached_pages(), ftl.counters().folded_pages), (0, 1000));
    assert!((0..=1000).all(|lpn| !ftl.is_slc(ftl.lookup(lpn))));
    let placed = ftl.write(0, 1);
    assert!(ftl.is_slc(placed.ppn));
}

#[test]
fn a_dynamic_cache_shrinks_as_the_drive_fills() {
    let cache = Cache {
        kind: CacheKind::Dynamic,
        pages: 8000,
        bits: 3,
        slc_unit_pages: 8,
    };
    let config = FtlConfig {
        cache: Some(cache),
        ..config(28_000, 32, 1024)
    };
    let taken = |filled: u32| {
        let mut ftl = Ftl::new(&config).unwrap();
        for lpn in 0..filled {
            write(&mut ftl, lpn);
        }
        while ftl.can_fold() {
            ftl.fold_unit();
        }
        let mut random = fastrand::Rng::with_seed(1);
        let mut taken = 0;
        while ftl.writes_go_to_cache() {
            write(&mut ftl, random.u32(0..28_000));
            taken += 1;
        }
        taken
    };
    let taken = [0, 14_000, 20_000, 26_000].map(taken);
    assert_eq!(taken[0], 8000);
    assert!(taken.is_sorted_by(|a, b| a > b) || taken[..2] == [8000, 8000]);
    assert!(taken[2] > taken[3] && taken[1] > taken[2]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let good = config(14_000, 16, 1024);
    let refused = |config: FtlConfig| matches!(Ftl::new(&config), Err(FtlError::Config(_)));
    assert!(!refused(good));
    assert!(!refused(config(15 * 1024 - 1, 16, 1024)));
    assert!(refused(config(15 * 1024, 16, 1024)));
    assert!(refused(config(14_000, 16, 1000)));
    assert!(refused(config(0, 16, 1024)));
    assert!(refused(config(1, 0, 1024)));
    assert!(refused(config(1, 1 << 22, 1024)));
    assert!(refused(FtlConfig {
        unit_pages: 0,
        ..good
    }));
    let cache = Cache {
        kind: CacheKind::Static,
        pages: 10,
        bits: 1,
        slc_unit_pages: 1,
    };
    assert!(refused(FtlConfig {
        cache: Some(cache),
        ..good
    }));
}

#[derive(Debug, Clone)]
enum Op {
    Write(u32),
    Run(u32, u32),
    Trim(u32, u32),
    Collect,
    Fold,
    FoldAll,
    Purge,
}

fn op() -> impl Strategy<Value = Op> {
    let any = any::<u32>;
    prop_oneof![
        60 => any().prop_map(Op::Write),
        20 => (any(), any()).prop_map(|(lpn, count)| Op::Run(lpn, count)),
        6 => (any(), any()).prop_map(|(lpn, count)| Op::Trim(lpn, count)),
        20 => Just(Op::Collect),
        10 => Just(Op::Fold),
        2 => Just(Op::FoldAll),
        1 => Just(Op::Purge),
    ]
}

prop_compose! {
    fn configs()(
        shift in 1..7u32,
        blocks in 2..20u32,
        spare in 0.0..1.0f64,
        unit_pages in 1..10u32,
        greedy in any::<bool>(),
        cache in proptest::option::of((any::<bool>(), 0..200u32, 2..6u32, 1..5u32)),
    ) -> FtlConfig {
        let most = ((blocks - 1) << shift) - 1;
        FtlConfig {
            // Half of all drives have the least spare that there can be.
            user_pages: ((f64::from(most) * (1.5 - spare).min(1.0)) as u32).max(1),
            blocks,
            pages_per_block: 1 << shift,
            unit_pages,
            policy: if greedy { Policy::Greedy } else { Policy::CostBenefit },
            cache: cache.map(|(dynamic, pages, bits, slc_unit_pages)| Cache {
                kind: if dynamic { CacheKind::Dynamic } else { CacheKind::Static },
                pages,
                bits: bits.min(1 << shift),
                slc_unit_pages,
            }),
        }
    }
}

fn holds_together(ftl: &Ftl, written: &HashSet<u32>) {
    let config = ftl.config();
    let shift = config.pages_per_block.trailing_zeros();
    let mut valid = vec![0; ftl.blocks() as usize];
    let mut in_cache = 0;
    for lpn in 0..config.user_pages {
        let ppn = ftl.lookup(lpn);
        assert_eq!(ppn != UNMAPPED, written.contains(&lpn));
        if ppn == UNMAPPED {
            continue;
        }
        assert_eq!(ftl.holds(ppn), Some(lpn));
        valid[(ppn >> shift) as usize] += 1;
        if ftl.is_slc(ppn) {
            in_cache += 1;
            let bits = config.cache.unwrap().bits;
            assert!(ppn % config.pages_per_block < config.pages_per_block / bits);
        }
    }
    let held = (0..ftl.blocks() << shift).filter(|&ppn| ftl.holds(ppn).is_some());
    assert_eq!(held.count(), written.len());
    assert_eq!(ftl.valid_pages() as usize, written.len());
    assert_eq!(ftl.cached_pages(), in_cache);
    let mut free = 0;
    for block in 0..ftl.blocks() {
        assert_eq!(ftl.block_valid(block), valid[block as usize]);
        let state = ftl.block_state(block);
        assert!(state != State::Free || valid[block as usize] == 0);
        assert!(block < config.blocks || state != State::Native);
        free += u32::from(block < config.blocks && state == State::Free);
    }
    assert_eq!(ftl.free_blocks(), free);
    let pages = ftl.free_pages() + ftl.valid_pages() + ftl.stale_pages();
    assert!(pages <= ftl.blocks() << shift);
    if config.cache.is_none() {
        assert_eq!(pages, ftl.blocks() << shift);
    }
    let most = config.cache.map_or(0, |cache| cache.pages);
    assert!(ftl.cache_capacity_used() <= most);
    assert!(ftl.can_write() || ftl.victim_valid().is_some());
}

fn check_step(ftl: &Ftl, step: &Collected) {
    assert!(step.moved <= step.scanned_to - step.scanned_from);
    assert!(step.moved <= ftl.config().unit_pages);
    assert!(step.moved > 0 || step.erased.is_some());
    assert!(step.programmed.is_some() || step.erased.is_some() || step.moved > 0);
    if let Some(ppn) = step.programmed {
        assert_eq!(
            ppn % ftl.config().pages_per_block % ftl.config().unit_pages,
            0
        );
    }
}

fn run(config: &FtlConfig, ops: &[Op]) -> (Counters, Vec<u32>) {
    let user = config.user_pages;
    let mut ftl = Ftl::new(config).unwrap();
    let mut written = HashSet::new();
    for op in ops {
        match *op {
            Op::Write(lpn) => {
                write(&mut ftl, lpn % user);
                written.insert(lpn % user);
            }
            Op::Run(lpn, count) => {
                let (mut lpn, end) = (lpn % user, lpn % user + count % (user - lpn % user) + 1);
                while lpn < end {
                    make_room(&mut ftl);
                    let run = ftl.write(lpn, end - lpn);
                    written.extend(lpn..lpn + run.pages);
                    lpn += run.pages;
                }
            }
            Op::Trim(lpn, count) => {
                let (first, count) = (lpn % user, count % (user - lpn % user) + 1);
                ftl.trim(first, count);
                written.retain(|lpn| !(first..first + count).contains(lpn));
            }
            Op::Collect => {
                if let Some(step) = ftl.collect_unit() {
                    check_step(&ftl, &step);
                }
            }
            Op::Fold => {
                if let Some(step) = ftl.fold_unit() {
                    check_step(&ftl, &step);
                }
            }
            Op::FoldAll => {
                let mut steps = 0;
                while ftl.can_fold() {
                    ftl.fold_unit().expect("something to fold");
                    steps += 1;
                    assert!(steps < 10_000);
                }
                assert_eq!(ftl.cached_pages(), 0);
            }
            Op::Purge => {
                ftl.purge();
                written.clear();
            }
        }
        holds_together(&ftl, &written);
    }
    let map = (0..user).map(|lpn| ftl.lookup(lpn)).collect();
    // Whatever happened, the drive can be filled, and rest wins all that can be won.
    fill(&mut ftl);
    holds_together(&ftl, &(0..user).collect());
    let mut steps = 0;
    while ftl.can_fold() || ftl.collect_unit().is_some() {
        ftl.fold_unit();
        steps += 1;
        assert!(steps < 100_000, "collection has no end");
    }
    assert!(ftl.can_write());
    holds_together(&ftl, &(0..user).collect());
    (ftl.counters(), map)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_drive_holds_together(
        config in configs(),
        ops in prop::collection::vec(op(), 1..150),
    ) {
        prop_assert_eq!(run(&config, &ops), run(&config, &ops));
    }
}
