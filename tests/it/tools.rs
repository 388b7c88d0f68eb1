//! The built-in tools: what they give, and that nothing leads out of the root.

use serde_json::{Value, json};
use stagekeeper::run::{Answer, BuiltinTools, FnTools, Hosts, ToolCall, ToolHost};
use stagekeeper::{CallNo, Status, ToolResult, ToolSpec};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn call_of(tool: &str, arguments: &Value) -> ToolCall {
    ToolCall {
        no: CallNo(1),
        tool: tool.to_owned(),
        arguments: arguments.to_string(),
        idempotency_key: "run-1".to_owned(),
    }
}

async fn call(tools: &impl ToolHost, tool: &str, arguments: Value) -> ToolResult {
    tools.call(&call_of(tool, &arguments)).await
}

async fn ok(tools: &impl ToolHost, tool: &str, arguments: Value) -> String {
    let result = call(tools, tool, arguments).await;
    assert_eq!(result.status, Status::Ok, "{}", result.text);
    result.text
}

async fn error(tools: &impl ToolHost, tool: &str, arguments: Value) -> String {
    let result = call(tools, tool, arguments).await;
    assert_eq!(result.status, Status::Error, "{}", result.text);
    result.text
}

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A root with a few files, and a folder beside it that nobody may reach.
struct World {
    dir: TempDir,
    tools: BuiltinTools,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "root/src/main.rs", "fn main() {\n    login();\n}\n");
        write(dir.path(), "root/src/login.rs", "pub fn login() {}\n");
        write(dir.path(), "root/README.md", "# Login\n");
        write(dir.path(), "outside/secret.txt", "secret\n");
        let tools = BuiltinTools::open(dir.path().join("root")).unwrap();
        Self { dir, tools }
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("root")
    }

    fn outside(&self) -> std::path::PathBuf {
        self.dir.path().join("outside")
    }

    fn outside_is_untouched(&self) {
        let names: Vec<_> = fs::read_dir(self.outside()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["secret.txt"]);
        assert_eq!(fs::read_to_string(self.outside().join("secret.txt")).unwrap(), "secret\n");
    }
}

#[tokio::test]
async fn list_files_is_sorted_and_leaves_out_what_gitignore_names() {
    let w = World::new();
    write(&w.root(), ".gitignore", "/target\n*.log\n");
    write(&w.root(), "src/.gitignore", "*.tmp\n!keep.log\n");
    for path in ["target/a", "b.log", "src/keep.log", "src/x.tmp", "x.tmp", ".git/HEAD", ".stagekeeper/a.jsonl"] {
        write(&w.root(), path, "");
    }
    let listed = ok(&w.tools, "list_files", json!({})).await;
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        [".gitignore", "README.md", "src/.gitignore", "src/keep.log", "src/login.rs", "src/main.rs", "x.tmp"]
    );
    let hidden = error(&w.tools, "list_files", json!({"path": "target"})).await;
    assert_eq!(hidden, "`target` is kept out of reach by .gitignore, or is git's or stagekeeper's own");
}

#[tokio::test]
async fn what_gitignore_hides_cannot_be_opened_by_writing_it() {
    let w = World::new();
    write(&w.root(), ".gitignore", ".env\n");
    write(&w.root(), ".env", "PASSWORD=hunter2");
    for name in [".gitignore", "src/.gitignore"] {
        let refused = error(&w.tools, "write_file", json!({ "path": name, "content": "!.env" })).await;
        assert_eq!(refused, "`.gitignore` says what is kept out of reach, and is not written here");
    }
    assert!(error(&w.tools, "read_file", json!({ "path": ".env" })).await.contains("out of reach"));
}

#[tokio::test]
async fn files_that_are_off_limits_are_neither_shown_nor_read_nor_written() {
    let w = World::new();
    let kept = [w.root().join("runs.db"), w.root().join("runs.db-wal")];
    write(&w.root(), "runs.db", "kept");
    let tools = BuiltinTools::open_without(w.root(), &kept).unwrap();
    assert!(!ok(&tools, "list_files", json!({})).await.contains("runs.db"));
    for name in ["runs.db", "./src/../runs.db", "runs.db-wal"] {
        let refused = error(&tools, "write_file", json!({ "path": name, "content": "x" })).await;
        assert!(refused.contains("out of reach"), "{refused}");
        assert!(error(&tools, "read_file", json!({ "path": name })).await.contains("out of reach"));
    }
    assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), "kept");
}

#[tokio::test]
async fn list_files_shows_the_folders_it_does_not_enter() {
    let w = World::new();
    write(&w.root(), "a/b/c/d/e.rs", "");
    assert_eq!(ok(&w.tools, "list_files", json!({"depth": 1})).await, "README.md\na/\nsrc/");
    assert_eq!(ok(&w.tools, "list_files", json!({"path": "a"})).await, "a/b/c/d/");
    assert_eq!(ok(&w.tools, "list_files", json!({"path": "./a/b/../b/c/"})).await, "a/b/c/d/e.rs");
    assert_eq!(ok(&w.tools, "list_files", json!({"path": "src/main.rs"})).await, "src/main.rs");
}

#[tokio::test]
async fn list_files_says_what_it_leaves_out() {
    let w = World::new();
    for n in 0..500 {
        write(&w.root(), &format!("many/{n:03}"), "");
    }
    let listed = ok(&w.tools, "list_files", json!({"path": "many"})).await;
    assert_eq!(listed.lines().count(), 401);
    assert!(listed.ends_with("many/399\n(100 further entries not shown; give `path` to look into one folder)"));
}

#[tokio::test]
async fn a_root_inside_a_repository_obeys_the_gitignore_above_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
    write(dir.path(), ".gitignore", "*.rs\n");
    write(dir.path(), "repo/.gitignore", "node_modules\n");
    write(dir.path(), "repo/app/node_modules/x", "");
    write(dir.path(), "repo/app/main.rs", "");
    let tools = BuiltinTools::open(dir.path().join("repo/app")).unwrap();
    assert_eq!(ok(&tools, "list_files", json!({})).await, "main.rs");
}

#[tokio::test]
async fn grep_code_gives_path_line_and_text() {
    let w = World::new();
    write(&w.root(), "data.bin", b"login\0login");
    write(&w.root(), "latin.txt", b"login \xe9t\xe9\r\n");
    assert_eq!(
        ok(&w.tools, "grep_code", json!({"pattern": "(?i)login"})).await,
        "README.md:1: # Login\nlatin.txt:1: login \u{fffd}t\u{fffd}\nsrc/login.rs:1: pub fn login() {}\nsrc/main.rs:2:     login();"
    );
    assert_eq!(
        ok(&w.tools, "grep_code", json!({"pattern": "login", "glob": "*.rs", "path": "src"})).await,
        "src/login.rs:1: pub fn login() {}\nsrc/main.rs:2:     login();"
    );
    assert_eq!(
        ok(&w.tools, "grep_code", json!({"pattern": "login", "path": "src/main.rs"})).await,
        "src/main.rs:2:     login();"
    );
    assert_eq!(ok(&w.tools, "grep_code", json!({"pattern": "nowhere"})).await, "");
}

#[tokio::test]
async fn grep_code_is_bounded_and_says_so() {
    let w = World::new();
    write(&w.root(), "many.txt", "needle\n".repeat(1000));
    write(&w.root(), "wide.txt", format!("pin{}", "x".repeat(1_000_000)));
    let found = ok(&w.tools, "grep_code", json!({"pattern": "needle"})).await;
    assert_eq!(found.lines().count(), 201);
    assert!(found.ends_with("(200 matches shown, there may be more; narrow with `path`, `glob` or a longer pattern)"));
    let wide = ok(&w.tools, "grep_code", json!({"pattern": "^pin"})).await;
    assert_eq!(wide.chars().count(), "wide.txt:1: ".len() + 301);
}

#[tokio::test]
async fn bad_patterns_get_a_clear_error() {
    let w = World::new();
    assert_eq!(
        error(&w.tools, "grep_code", json!({"pattern": "login("})).await,
        r"bad regex `login(`: unclosed group; a `\` before ( ) [ ] { } . * + ? makes it plain"
    );
    let huge = error(&w.tools, "grep_code", json!({"pattern": "(a{1000}){1000}"})).await;
    assert!(huge.contains("size limit"), "{huge}");
    let glob = error(&w.tools, "grep_code", json!({"pattern": "a", "glob": "[x"})).await;
    assert!(glob.starts_with("bad glob `[x`"), "{glob}");
}

#[tokio::test]
async fn read_file_gives_plain_text_and_parts_of_it() {
    let w = World::new();
    assert_eq!(ok(&w.tools, "read_file", json!({"path": "src/login.rs"})).await, "pub fn login() {}\n");
    assert_eq!(
        ok(&w.tools, "read_file", json!({"path": "src/main.rs", "offset": 2, "limit": 1})).await,
        "    login();\n(more follows; continue with offset 3)"
    );
    assert_eq!(ok(&w.tools, "read_file", json!({"path": "src/main.rs", "offset": 3})).await, "}\n");
    assert_eq!(
        ok(&w.tools, "read_file", json!({"path": "src/main.rs", "offset": 9})).await,
        "(`src/main.rs` ends before line 9: it has 3 lines)"
    );
    assert_eq!(
        ok(&w.tools, "read_file", json!({"path": "src/main.rs", "limit": null, "reason": "curious"})).await,
        "fn main() {\n    login();\n}\n"
    );
}

#[tokio::test]
async fn read_file_answers_what_cannot_be_read_in_words() {
    let w = World::new();
    write(&w.root(), "a.bin", b"\x7fELF\0\0");
    write(&w.root(), "latin.txt", b"\xe9t\xe9");
    assert_eq!(
        error(&w.tools, "read_file", json!({"path": "src/mian.rs"})).await,
        "no such file or folder: `src/mian.rs`; list_files shows what is there"
    );
    assert_eq!(
        error(&w.tools, "read_file", json!({"path": "no/such/dir"})).await,
        "no such file or folder: `no/such/dir`; list_files shows what is there"
    );
    assert_eq!(
        error(&w.tools, "read_file", json!({"path": "src"})).await,
        "`src` is a folder; list_files shows what is in it"
    );
    assert_eq!(error(&w.tools, "read_file", json!({"path": "README.md/x"})).await, "`README.md` is no folder");
    assert_eq!(
        error(&w.tools, "read_file", json!({"path": "a.bin"})).await,
        "`a.bin` is a binary file of 6 bytes; it cannot be read as text"
    );
    assert_eq!(ok(&w.tools, "read_file", json!({"path": "latin.txt"})).await, "\u{fffd}t\u{fffd}");
    assert_eq!(error(&w.tools, "read_file", json!({})).await, "these arguments do not fit: missing field `path`");
    let made = std::process::Command::new("mkfifo").arg(w.root().join("pipe")).status().unwrap();
    assert!(made.success());
    assert_eq!(error(&w.tools, "read_file", json!({"path": "pipe"})).await, "`pipe` is neither a file nor a folder");
}

#[tokio::test]
async fn a_file_of_50_mb_is_read_in_parts() {
    let w = World::new();
    write(&w.root(), "big.txt", "é123456789012345678901234567890123456789012345678\n".repeat(1024 * 1024));
    let text = ok(&w.tools, "read_file", json!({"path": "big.txt"})).await;
    assert!(text.len() < 65 * 1024, "{}", text.len());
    let (shown, next) = text.rsplit_once('\n').unwrap();
    let lines = shown.lines().count();
    assert_eq!(next, format!("(more follows; continue with offset {})", lines + 1));
    let far = ok(&w.tools, "read_file", json!({"path": "big.txt", "offset": 1_048_576})).await;
    assert!(far.starts_with("é123") && far.lines().count() == 1, "{far}");
    let grep = ok(&w.tools, "grep_code", json!({"pattern": "123", "path": "big.txt"})).await;
    assert_eq!(grep, "(1 files over 8388608 bytes were not searched)");
}

#[tokio::test]
async fn write_file_writes_the_whole_file_or_nothing() {
    let w = World::new();
    assert_eq!(
        ok(&w.tools, "write_file", json!({"path": "gen/deep/a.c", "content": "int a;\n"})).await,
        "wrote 7 bytes to gen/deep/a.c (new file)"
    );
    fs::set_permissions(w.root().join("gen/deep/a.c"), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(
        ok(&w.tools, "write_file", json!({"path": "gen/deep/a.c", "content": "int b;\n"})).await,
        "wrote 7 bytes to gen/deep/a.c (replaced)"
    );
    assert_eq!(fs::read_to_string(w.root().join("gen/deep/a.c")).unwrap(), "int b;\n");
    assert_eq!(fs::metadata(w.root().join("gen/deep/a.c")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(
        error(&w.tools, "write_file", json!({"path": "src", "content": ""})).await,
        "`src` is a folder; list_files shows what is in it"
    );
    assert_eq!(
        error(&w.tools, "write_file", json!({"path": "README.md/x/y", "content": ""})).await,
        "`README.md` is no folder"
    );
    let long = error(&w.tools, "write_file", json!({"path": "a", "content": "x".repeat(5_000_000)})).await;
    assert_eq!(long, "the content is 5000000 bytes long; the most is 4194304");
    let names: Vec<_> = fs::read_dir(w.root().join("gen/deep")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["a.c"], "nothing is left beside it");
}

#[tokio::test]
async fn what_gitignore_names_is_neither_read_nor_written() {
    let w = World::new();
    write(&w.root(), ".gitignore", ".env\nbuild/\n");
    write(&w.root(), ".env", "KEY=1");
    for (tool, path) in [
        ("read_file", ".env"),
        ("write_file", ".env"),
        ("write_file", "build/deep/new.txt"),
        ("write_file", ".git/hooks/pre-commit"),
        ("write_file", ".GIT/hooks/pre-commit"),
        ("write_file", ".stagekeeper/outbox/forged.eml"),
        ("grep_code", ".env"),
    ] {
        let text = error(&w.tools, tool, json!({"path": path, "content": "x", "pattern": "KEY"})).await;
        assert!(text.contains("out of reach"), "{tool} {path}: {text}");
    }
    assert!(!w.root().join("build").exists() && !w.root().join(".git").exists());
    assert_eq!(ok(&w.tools, "grep_code", json!({"pattern": "KEY"})).await, "");
}

#[tokio::test]
async fn no_path_leads_out_of_the_root() {
    let w = World::new();
    symlink(w.outside().join("secret.txt"), w.root().join("link.txt")).unwrap();
    symlink(w.outside(), w.root().join("dir")).unwrap();
    symlink("../../outside/secret.txt", w.root().join("src/up.txt")).unwrap();
    symlink("link.txt", w.root().join("chain.txt")).unwrap();
    symlink(w.outside().join("new.txt"), w.root().join("dangling.txt")).unwrap();
    symlink("round.txt", w.root().join("round.txt")).unwrap();
    let absolute = w.outside().join("secret.txt").to_string_lossy().into_owned();
    let paths = [
        "../outside/secret.txt",
        "src/../../outside/secret.txt",
        "/etc/passwd",
        "/",
        "..",
        "link.txt",
        "dir/secret.txt",
        "dir",
        "dir/new.txt",
        "src/up.txt",
        "chain.txt",
        "dangling.txt",
        "round.txt",
        "dir/../outside/secret.txt",
        "new/../../x",
        "a\0b",
        absolute.as_str(),
    ];
    for path in paths {
        for tool in ["read_file", "write_file", "list_files", "grep_code"] {
            let text = error(&w.tools, tool, json!({"path": path, "content": "x", "pattern": "s"})).await;
            let said = ["leads out of the root", "too many symlinks", "no such file"].iter().any(|s| text.contains(s));
            assert!(said, "{tool} {path:?}: {text}");
        }
    }
    let found = ok(&w.tools, "grep_code", json!({"pattern": "secret"})).await;
    assert_eq!(found, "", "symlinks are not followed on a walk");
    let long = error(&w.tools, "read_file", json!({"path": "a/".repeat(3000)})).await;
    assert!(long.contains("too long"), "{long}");
    w.outside_is_untouched();
}

#[tokio::test]
async fn symlinks_and_absolute_paths_inside_the_root_work() {
    let w = World::new();
    symlink("src/login.rs", w.root().join("link.rs")).unwrap();
    symlink("../src", w.root().join("src/self")).unwrap();
    let absolute = w.root().canonicalize().unwrap().join("src/login.rs").to_string_lossy().into_owned();
    for path in ["link.rs", "src/self/login.rs", absolute.as_str()] {
        assert_eq!(ok(&w.tools, "read_file", json!({"path": path})).await, "pub fn login() {}\n", "{path}");
    }
    let wrote = ok(&w.tools, "write_file", json!({"path": "link.rs", "content": "new"})).await;
    assert_eq!(wrote, "wrote 3 bytes to src/login.rs (replaced)");
    assert!(w.root().join("link.rs").is_symlink());
}

#[tokio::test]
async fn a_folder_swapped_for_a_symlink_half_way_leads_nowhere() {
    let w = World::new();
    write(&w.root(), "swap/secret.txt", "inside");
    let (a, b) = (w.root().join("swap"), w.root().join("kept"));
    let (outside, stop) = (w.outside(), Arc::new(AtomicBool::new(false)));
    let swapper = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&a, &b).unwrap();
                if symlink(&outside, &a).is_ok() {
                    fs::remove_file(&a).unwrap();
                }
                // `write_file` may have made the folder while it was away: inside the root, so that is well.
                while fs::rename(&b, &a).is_err() {
                    let _ = fs::remove_dir_all(&a);
                }
            }
        }
    });
    for n in 0..300 {
        let read = call(&w.tools, "read_file", json!({"path": "swap/secret.txt"})).await;
        assert_ne!(read.text, "secret\n", "read {n}");
        let found = call(&w.tools, "grep_code", json!({"pattern": "secret", "path": "swap"})).await;
        assert!(!found.text.contains(": secret"), "{}", found.text);
        call(&w.tools, "write_file", json!({"path": "swap/new.txt", "content": "x"})).await;
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    w.outside_is_untouched();
}

#[test]
fn a_root_that_does_not_exist_is_an_error() {
    let w = World::new();
    assert!(BuiltinTools::open(w.root().join("nowhere")).is_err());
    assert!(BuiltinTools::open(w.root().join("README.md")).is_err());
}

fn commands(w: World, lines: &[&str]) -> World {
    let tools = w.tools.commands(lines.iter().map(|line| (*line).to_owned()).collect());
    World { dir: w.dir, tools }
}

#[tokio::test]
async fn run_command_runs_only_allowed_lines_without_a_shell() {
    let w = commands(World::new(), &["echo hello", "printf *", "pwd"]);
    assert_eq!(ok(&w.tools, "run_command", json!({"command": "echo   hello"})).await, "hello\n");
    assert_eq!(
        ok(&w.tools, "run_command", json!({"command": "printf %s|%s '$HOME; rm -rf *' \"a b\""})).await,
        "$HOME; rm -rf *|a b"
    );
    assert_eq!(
        ok(&w.tools, "run_command", json!({"command": "pwd"})).await.trim(),
        w.root().canonicalize().unwrap().to_str().unwrap()
    );
    for refused in ["echo hello; rm x", "echo", "echo hello world", "rm -rf .", "/bin/echo hello"] {
        assert_eq!(
            error(&w.tools, "run_command", json!({"command": refused})).await,
            format!("`{refused}` is not allowed; the allowed command lines are: echo hello · printf * · pwd")
        );
    }
    let none = World::new();
    assert_eq!(error(&none.tools, "run_command", json!({"command": "ls"})).await, "no command line is allowed here");
}

#[tokio::test]
async fn run_command_gives_output_and_exit_code_of_a_failure() {
    let w = commands(World::new(), &["sh -c *", "no-such-program"]);
    let failed = error(&w.tools, "run_command", json!({"command": "sh -c 'echo out; echo err >&2; exit 3'"})).await;
    assert_eq!(failed, "out\nerr\n (exit code 3)");
    assert_eq!(error(&w.tools, "run_command", json!({"command": "sh -c 'kill -9 $$'"})).await, "(ended by signal 9)");
    assert_eq!(
        error(&w.tools, "run_command", json!({"command": "no-such-program"})).await,
        "`no-such-program` is not installed on this machine"
    );
    let much = ok(&w.tools, "run_command", json!({"command": "sh -c 'yes 12345678 | head -n 1000000'"})).await;
    assert!(much.len() < 66 * 1024 && much.contains("bytes left out"), "{}", much.len());
    let binary = ok(&w.tools, "run_command", json!({"command": "sh -c 'printf \"\\\\377\\\\000\"'"})).await;
    assert!(binary.starts_with('\u{fffd}'), "{binary:?}");
}

fn runs(pid: &str) -> bool {
    std::process::Command::new("kill")
        .args(["-0", pid.trim()])
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap()
        .success()
}

async fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !what() {
        assert!(Instant::now() < end, "it did not come to pass");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_does_not_hold_the_run_and_is_ended() {
    let w = commands(World::new(), &["sh -c *"]);
    let begun = Instant::now();
    let said = ok(&w.tools, "run_command", json!({"command": "sh -c 'sleep 60 & echo $!'"})).await;
    assert!(begun.elapsed() < Duration::from_secs(10));
    w.tools.close().await.unwrap();
    assert!(!runs(&said), "{said}");
}

#[tokio::test]
async fn a_dropped_command_gets_term_and_then_kill_with_its_whole_group() {
    let w = commands(World::new(), &["sh -c *"]);
    let script = "sh -c 'trap \"\" TERM; sleep 60 & echo $$ > main; echo $! > child.part; mv child.part child; wait; wait; sleep 60'";
    let call = call_of("run_command", &json!({"command": script}));
    let (main, child) = (w.root().join("main"), w.root().join("child"));
    tokio::select! {
        _ = w.tools.call(&call) => panic!("it does not end by itself"),
        () = until(|| child.exists()) => {}
    }
    let (main, child) = (fs::read_to_string(main).unwrap(), fs::read_to_string(child).unwrap());
    assert!(runs(&main));
    w.tools.close().await.unwrap();
    assert!(!runs(&main));
    until(|| !runs(&child)).await;
}

#[tokio::test]
async fn a_command_does_not_see_secrets_of_the_environment() {
    let w = commands(World::new(), &["env"]);
    let seen = ok(&w.tools, "run_command", json!({"command": "env"})).await;
    assert!(seen.contains("PATH="), "{seen}");
    // Cargo sets no secret for tests; what looks like one is left out whatever it is.
    assert!(!seen.lines().any(|line| line.split('=').next().is_some_and(|name| name.contains("TOKEN"))), "{seen}");
}

fn mails(w: &World) -> Vec<String> {
    let Ok(folder) = fs::read_dir(w.root().join(".stagekeeper/outbox")) else {
        return Vec::new();
    };
    let mut mails: Vec<_> = folder.map(|e| fs::read_to_string(e.unwrap().path()).unwrap()).collect();
    mails.sort();
    mails
}

#[tokio::test]
async fn send_email_puts_one_message_into_the_outbox() {
    let w = World::new();
    let mail = json!({"to": "ann@example.org, bob@example.org", "subject": "Grüße", "body": "It was login.rs.\n"});
    assert_eq!(
        ok(&w.tools, "send_email", mail.clone()).await,
        "mail to ann@example.org, bob@example.org put into the outbox as run-1.eml"
    );
    let sent = mails(&w);
    assert_eq!(sent.len(), 1);
    for part in ["From: <stagekeeper@localhost>", "<ann@example.org>", "<bob@example.org>", "Subject: =?", "login.rs"] {
        assert!(sent[0].contains(part), "{part}: {}", sent[0]);
    }
    // The very same call again, after a crash say, sends nothing twice.
    assert!(ok(&w.tools, "send_email", mail).await.contains("was put into the outbox before"));
    assert_eq!(mails(&w).len(), 1);
}

#[tokio::test]
async fn a_mail_without_a_run_never_overwrites_another() {
    let w = World::new();
    let mut call = call_of("send_email", &json!({"to": "a@b.c", "subject": "s", "body": "b"}));
    call.idempotency_key = "-1".to_owned();
    for name in ["mail-0001.eml", "mail-0002.eml"] {
        assert!(w.tools.call(&call).await.text.ends_with(name));
    }
}

#[tokio::test]
async fn a_mail_cannot_smuggle_headers_or_recipients() {
    let w = World::new();
    for to in ["", "ann", "@b", "a@", "a@b@c", "a@b\r\nBcc: x@y", "Ann <a@b>", "a@b c@d", "a@b;c@d", "a\u{7}@b"] {
        let text = error(&w.tools, "send_email", json!({"to": to, "subject": "s", "body": "b"})).await;
        assert!(text.contains("address"), "{to:?}: {text}");
    }
    let text = error(&w.tools, "send_email", json!({"to": "a@b.c", "subject": "s\r\nBcc: x@y.z", "body": "b"})).await;
    assert_eq!(text, "`subject` must be one line of at most 250 characters");
    let body = json!({"to": "a@b.c", "subject": "s", "body": "\r\n.\r\nBcc: x@y.z\r\n\r\nx"});
    ok(&w.tools, "send_email", body).await;
    let sent = mails(&w);
    let headers = sent[0].split("\r\n\r\n").next().unwrap();
    assert!(!headers.contains("Bcc"), "{headers}");
}

#[tokio::test]
async fn an_outbox_of_its_own_is_made_when_needed() {
    let w = World::new();
    let outbox = w.dir.path().join("mails/out");
    let tools = BuiltinTools::open(w.root()).unwrap().outbox(&outbox).sender("bot@example.org");
    assert!(!outbox.exists());
    ok(&tools, "send_email", json!({"to": ["a@b.c"], "subject": "s", "body": "b"})).await;
    let text = fs::read_to_string(outbox.join("run-1.eml")).unwrap();
    assert!(text.contains("From: <bot@example.org>"), "{text}");
}

#[tokio::test]
async fn every_tool_says_what_arguments_it_takes() {
    let w = commands(World::new(), &["cargo test *"]);
    let specs = w.tools.tools();
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["list_files", "grep_code", "read_file", "write_file", "run_command", "send_email"]);
    for spec in &specs {
        assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
        for required in spec.parameters["required"].as_array().unwrap() {
            assert!(spec.parameters["properties"][required.as_str().unwrap()].is_object(), "{} {required}", spec.name);
        }
        for required in spec.parameters["required"].as_array().unwrap() {
            let text = error(&w.tools, &spec.name, json!({})).await;
            assert!(text.contains("missing field"), "{} {required}: {text}", spec.name);
        }
    }
    assert!(specs[4].description.contains("cargo test *"));
    assert_eq!(error(&w.tools, "fly", json!({})).await, "there is no built-in tool `fly`");
}

/// A host that notes its closing, and fails or breaks at it.
struct Closing {
    name: &'static str,
    how: &'static str,
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl ToolHost for Closing {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![ToolSpec::named(self.name), ToolSpec::named("shared")]
    }

    fn call<'a>(&'a self, _: &'a ToolCall) -> Answer<'a, ToolResult> {
        Box::pin(async { ToolResult::ok(self.name) })
    }

    fn close(&self) -> Answer<'_, Result<(), String>> {
        Box::pin(async {
            self.log.lock().unwrap().push(self.name);
            match self.how {
                "fails" => Err(format!("{} is stuck", self.name)),
                "panics" => panic!("{} is broken", self.name),
                "hangs" => std::future::pending().await,
                _ => Ok(()),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_are_closed_once_in_reverse_order_of_first_use_whatever_the_others_do() {
    let log = Arc::default();
    let host = |name, how| Closing { name, how, log: Arc::clone(&log) };
    let hosts = Hosts::new()
        .with(host("a", "fails"))
        .with(host("b", "well"))
        .with(host("c", "panics"))
        .with(host("d", "hangs"))
        .with(host("e", "well"))
        .with(FnTools::new().tool("f", |call| ToolResult::ok(call.arguments.as_str())));
    assert_eq!(
        hosts.tools().iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
        ["a", "shared", "b", "c", "d", "e", "f"]
    );
    for tool in ["e", "c", "a", "e", "d"] {
        assert_eq!(ok(&hosts, tool, json!({})).await, tool);
    }
    assert_eq!(ok(&hosts, "shared", json!({})).await, "a");
    assert_eq!(ok(&hosts, "f", json!({"x": 1})).await, r#"{"x":1}"#);
    assert_eq!(error(&hosts, "g", json!({})).await, "there is no tool `g`");
    let failed = hosts.close().await.unwrap_err();
    assert_eq!(failed, "closing took longer than 10 s; a is stuck; closing broke: c is broken");
    assert_eq!(*log.lock().unwrap(), ["d", "a", "c", "e"]);
    assert_eq!(hosts.close().await, Ok(()));
    assert_eq!(log.lock().unwrap().len(), 4);
}
