//! Bounds of the loader. Each is far above any table seen, and far below what hurts.

/// Largest table file, in bytes.
pub const FILE_SIZE: usize = 8 * 1024 * 1024;
/// Deepest nesting of YAML collections.
pub const DEPTH: usize = 64;
/// Most stages of one table.
pub const STAGES: usize = 20_000;
/// Most rules, facts, catalogue entries or guarantees of one table, each.
pub const ENTRIES: usize = 10_000;
/// Most names in one list.
pub const LIST: usize = 10_000;
/// Most steps of one stage.
pub const STEPS: u32 = 100_000;
/// Compiled size of one regex, in bytes.
pub const REGEX_SIZE: usize = 1 << 20;
/// Most problems reported of one file.
pub const PROBLEMS: usize = 200;
/// Longest name of a stage, tool, fact or rule, in characters.
pub const NAME: usize = 128;
/// Most YAML values of one file, those that aliases repeat counted each time.
pub const NODES: usize = 500_000;
/// Most regexes of one table.
pub const REGEXES: usize = 200;
/// Most files one table may include.
pub const INCLUDES: usize = 64;
/// Longest duration, in milliseconds: a year.
pub const DURATION_MS: u64 = 366 * 24 * 3_600 * 1_000;
/// Most of anything that is counted in a guard or a limit and has no narrower bound of its own.
pub const COUNT: u32 = 1_000_000;
/// Most different patterns in the catalogue, and in all `allowed_tools` together.
pub const PATTERNS: usize = 200;
/// Most rounds of a cycle that are remembered.
pub const ROUNDS: u32 = 8;
