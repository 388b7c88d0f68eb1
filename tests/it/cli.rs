//! The built command: whole outputs and exit codes of every verb.

mod check;
mod draw;
mod explain;
mod nested;
mod new;
mod replay;
mod run;
mod suggest;
mod test;
mod verify;

use regex::Regex;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own with tables and a few sources, in which the command runs.
struct Shop {
    folder: tempfile::TempDir,
}

impl Shop {
    fn new() -> Self {
        let shop = Self { folder: tempfile::tempdir().unwrap() };
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("stages/diagnose.yaml");
        shop.write("diagnose.yaml", &std::fs::read_to_string(shipped).unwrap());
        shop.write(
            "src/login.rs",
            "//! Logging in.\n\npub fn login(name: &str) -> char {\n    // An empty name crashes here.\n    name.chars().next().unwrap()\n}\n",
        );
        shop.write("src/db.rs", "//! The database.\n\npub fn find(name: &str) -> bool {\n    !name.is_empty()\n}\n");
        shop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command, with no variable that would change what it prints.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stagekeeper"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["STAGEKEEPER_LOG", "NO_COLOR", "OPENAI_API_KEY", "COLUMNS", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn code(&self, args: &[&str]) -> i32 {
        self.output(args).status.code().unwrap()
    }

    /// Everything the command did, for a snapshot.
    fn told(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let mut told = format!("$ stagekeeper {}\nexit {}\n", args.join(" "), output.status.code().unwrap());
        for (name, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
            if !bytes.is_empty() {
                let _ = write!(told, "--- {name}\n{}", String::from_utf8(bytes).unwrap());
            }
        }
        self.stable(&told)
    }

    /// The text without what differs from run to run.
    fn stable(&self, text: &str) -> String {
        let run = Regex::new(r"\d{8}-\d{6}-[0-9a-f]+").unwrap();
        let text = text.replace(self.folder.path().to_str().unwrap(), "DIR");
        run.replace_all(&text, "RUN").into_owned()
    }

    /// The one trace there is.
    fn trace(&self) -> String {
        let mut names = std::fs::read_dir(self.path(".stagekeeper"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".jsonl"));
        let name = names.next().unwrap();
        assert_eq!(names.next(), None);
        format!(".stagekeeper/{name}")
    }
}

/// Compares with `snapshots/cli/NAME.snap`.
fn compare(name: &str, told: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots/cli");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

#[test]
fn help_tells_every_verb_and_option() {
    let shop = Shop::new();
    let mut told = shop.told(&["--help"]);
    for verb in
        ["new", "check", "draw", "schema", "run", "resume", "runs", "test", "verify", "replay", "explain", "audit"]
    {
        told.push('\n');
        told.push_str(&shop.told(&[verb, "--help"]));
    }
    compare("help", &told);
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let shop = Shop::new();
    for args in
        [&["bogus"][..], &[], &["run", "diagnose.yaml"], &["check"], &["draw", "diagnose.yaml", "--format", "x"]]
    {
        assert_eq!(shop.code(args), 2, "{args:?}");
    }
    // Verbs of a later version are not offered.
    for verb in ["mcp", "hook", "serve"] {
        assert_eq!(shop.code(&[verb]), 2, "{verb}");
    }
}

#[test]
fn version_is_data() {
    let output = Shop::new().output(&["--version"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("stagekeeper {}\n", env!("CARGO_PKG_VERSION")));
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
fn a_log_filter_that_is_none_is_a_usage_error() {
    let shop = Shop::new();
    let status = shop.command(&["schema"]).env("STAGEKEEPER_LOG", "=,=").output().unwrap().status;
    assert_eq!(status.code(), Some(2));
}

#[test]
fn logs_go_to_stderr_and_data_stays_clean() {
    let shop = Shop::new();
    let args = ["run", "diagnose.yaml", "--task", "empty name", "--no-trace", "--format", "json"];
    let output = shop.command(&args).env("STAGEKEEPER_LOG", "debug").output().unwrap();
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    let logs = String::from_utf8(output.stderr).unwrap();
    for field in ["loop_index", "dup_tool_count", "steps_left", "explore"] {
        assert!(logs.contains(field), "no `{field}` in\n{logs}");
    }
}

#[test]
fn the_schema_is_json_for_editors() {
    let output = Shop::new().output(&["schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"]["stages"].is_object());
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let shop = Shop::new();
    let mut child = shop.command(&["schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_is_exit_code_1() {
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = Shop::new().command(&["schema"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write to standard output"));
}
