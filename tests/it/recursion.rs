//! The recursion guard alone: every contract of `docs/reference/recursion.md` has a test of its name.

use stagekeeper::engine::recursion::{Kind, Limits};
use stagekeeper::{Recursion, TooDeep};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[test]
fn the_prefix_contains_the_functions_name_and_do_not_call_it_and_recursion() {
    let recursion = Recursion::new();
    assert_eq!(recursion.prefix(), "");
    let _outer = recursion.enter("outer").unwrap();
    let _inner = recursion.enter("look_it_up").unwrap();
    let prefix = recursion.prefix();
    for part in ["look_it_up", "do NOT call it", "recursion", "INSIDE"] {
        assert!(prefix.contains(part), "{part}: {prefix}");
    }
    assert!(!prefix.contains("outer"), "the innermost function is named");
}

#[test]
fn the_description_comes_after_the_warning_and_there_is_no_such_line_when_it_is_empty() {
    let recursion = Recursion::new();
    let _inside = recursion.enter_described("find", "Finds things.").unwrap();
    let with = recursion.prefix();
    assert!(with.find("recursion").unwrap() < with.find("Finds things.").unwrap());
    assert_eq!(with.lines().count(), 2);
    let _deeper = recursion.enter_described("find", " \n").unwrap();
    assert_eq!(recursion.prefix().lines().count(), 1);
    assert!(!recursion.prefix().contains("What find is for"));
}

#[test]
fn one_ordinary_call_has_depth_1() {
    let recursion = Recursion::new();
    assert_eq!(recursion.depth("a"), 0);
    let inside = recursion.enter("a").unwrap();
    assert_eq!(recursion.depth("a"), 1);
    drop(inside);
    let _again = recursion.enter("a").unwrap();
    assert_eq!(recursion.depth("a"), 1);
}

fn blindly(recursion: &Recursion, entered: &Cell<u32>) -> Result<(), TooDeep> {
    let _inside = recursion.enter("again")?;
    entered.set(entered.get() + 1);
    blindly(recursion, entered)
}

#[test]
fn a_function_that_calls_itself_blindly_is_stopped_with_its_name_and_the_limit_and_its_body_entered_5_times() {
    let (recursion, entered) = (Recursion::new(), Cell::new(0));
    let error = blindly(&recursion, &entered).unwrap_err();
    assert_eq!(entered.get(), 5);
    assert_eq!((&*error.name, error.kind, error.limit), ("again", Kind::Depth, 5));
    assert_eq!(error.to_string(), "`again` already runs 5 times inside itself, which is the limit");
    assert_eq!(recursion.depth("again"), 0);
}

#[test]
fn a_and_b_count_apart() {
    let recursion = Recursion::new();
    let _a: Vec<_> = (0..5).map(|_| recursion.enter("a").unwrap()).collect();
    let _b: Vec<_> = (0..5).map(|_| recursion.enter("b").unwrap()).collect();
    assert_eq!((recursion.depth("a"), recursion.depth("b")), (5, 5));
    assert_eq!(&*recursion.enter("b").unwrap_err().name, "b");
}

#[test]
fn depth_is_restored_after_a_return() {
    let recursion = Recursion::new();
    let inside = |recursion: &Recursion| {
        let _inside = recursion.enter("a").unwrap();
        recursion.depth("a")
    };
    assert_eq!(inside(&recursion), 1);
    assert_eq!((recursion.depth("a"), recursion.chain().len()), (0, 0));
}

#[test]
fn depth_is_restored_after_an_error_and_a_panic() {
    let recursion = Recursion::new();
    let fails = || -> Result<(), Box<dyn std::error::Error>> {
        let _inside = recursion.enter("a")?;
        Err("no".into())
    };
    fails().unwrap_err();
    assert_eq!(recursion.depth("a"), 0);
    let panics = recursion.clone();
    std::thread::spawn(move || {
        let _inside = panics.enter("a").unwrap();
        std::panic::resume_unwind(Box::new("no"));
    })
    .join()
    .unwrap_err();
    assert_eq!(recursion.depth("a"), 0);
}

#[tokio::test]
async fn depth_is_restored_after_a_cancellation() {
    let recursion = Recursion::new();
    let inside = recursion.clone();
    let hangs = tokio::spawn(async move {
        let _inside = inside.enter("a").unwrap();
        std::future::pending::<()>().await;
    });
    while recursion.depth("a") == 0 {
        tokio::task::yield_now().await;
    }
    hangs.abort();
    assert!(hangs.await.unwrap_err().is_cancelled());
    assert_eq!(recursion.depth("a"), 0);
}

/// Calls itself in a new task each time, which may run on another thread.
fn deeper(recursion: Recursion, entered: Arc<AtomicU32>) -> tokio::task::JoinHandle<Result<u32, TooDeep>> {
    tokio::spawn(async move {
        let _inside = recursion.enter("deeper")?;
        entered.fetch_add(1, Ordering::Relaxed);
        let before = recursion.depth("deeper");
        tokio::time::sleep(Duration::from_millis(1)).await;
        let ended = deeper(recursion.clone(), entered).await.unwrap();
        tokio::task::yield_now().await;
        assert_eq!(recursion.depth("deeper"), before);
        ended
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn depth_is_restored_across_await_points_on_other_threads() {
    let (recursion, entered) = (Recursion::new(), Arc::new(AtomicU32::new(0)));
    let error = deeper(recursion.clone(), Arc::clone(&entered)).await.unwrap().unwrap_err();
    assert_eq!((error.limit, entered.load(Ordering::Relaxed)), (5, 5));
    assert_eq!(recursion.depth("deeper"), 0);
}

#[test]
fn a_b_a_b_a_is_refused_by_reentry_with_the_chain_in_the_message_while_a_a_a_still_reaches_5() {
    let recursion = Recursion::new();
    let chain: Vec<_> = ["a", "b", "a", "b"].map(|n| recursion.enter(n).unwrap()).into();
    let error = recursion.enter("a").unwrap_err();
    assert_eq!((error.kind, error.limit), (Kind::Reentry, 2));
    assert!(error.to_string().contains("a -> b -> a -> b -> a"), "{error}");
    drop(chain);
    let same: Vec<_> = (0..5).map(|_| recursion.enter("a").unwrap()).collect();
    assert_eq!(recursion.enter("a").unwrap_err().kind, Kind::Depth);
    drop(same);
    let off = Recursion::with_limits(Limits { depth: 5, reentry: 0 });
    let _all: Vec<_> = ["a", "b"].repeat(5).into_iter().map(|n| off.enter(n).unwrap()).collect();
    assert_eq!(off.enter("a").unwrap_err().kind, Kind::Depth);
}

#[test]
fn functions_that_run_side_by_side_on_branches_are_not_inside_one_another() {
    let recursion = Recursion::new();
    let _outer = recursion.enter("outer").unwrap();
    let branches: Vec<_> = (0..9).map(|_| recursion.branch()).collect();
    let _guards: Vec<_> = branches.iter().map(|b| b.enter("part").unwrap()).collect();
    assert!(branches.iter().all(|b| b.depth("part") == 1 && b.depth("outer") == 1));
    assert_eq!(recursion.depth("part"), 0);
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let recursion = Recursion::new();
    let first = recursion.enter("a").unwrap();
    let _second = recursion.enter("b").unwrap();
    drop(first);
    assert_eq!((recursion.depth("a"), recursion.depth("b")), (0, 1));
    assert!(recursion.prefix().contains("INSIDE b"));
}
