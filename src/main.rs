//! The `stagekeeper` command: exits, nothing else.

fn main() -> std::process::ExitCode {
    stagekeeper::cli::main()
}
