//! The texts that name models.

use stagekeeper::provider::{Options, Secret, Spec, build};

fn refused(spec: &str, options: &Options) -> String {
    build(spec, options).err().expect(spec).to_string()
}

#[test]
fn each_spec_names_its_model() {
    assert_eq!("builtin".parse(), Ok(Spec::Builtin));
    assert_eq!("script:a b/c.yaml".parse(), Ok(Spec::Script("a b/c.yaml".into())));
    assert_eq!("openai:gpt-4o-mini".parse(), Ok(Spec::OpenAi("gpt-4o-mini".into())));
    assert_eq!("ollama:qwen3:8b".parse(), Ok(Spec::Ollama("qwen3:8b".into())));
    assert!(build("builtin", &Options::default()).is_ok());
    assert!(build("chaos:flood", &Options::default()).is_ok());
    assert!(build("ollama:qwen3:8b", &Options::default()).is_ok());
}

#[test]
fn a_wrong_spec_says_what_to_write() {
    let none = Options::default();
    let said: Vec<String> = [
        "bultin",
        "openia:gpt-4o",
        "gemini",
        "openai",
        "openai:",
        "script:",
        "chaos:loop",
        "builtin:x",
        "anthropic:claude",
        "openai:gpt-4o",
    ]
    .iter()
    .map(|spec| refused(spec, &none))
    .collect();
    insta::assert_snapshot!(said.join("\n"), @r###"
unknown model `bultin`; did you mean `builtin`?
unknown model `openia:gpt-4o`; did you mean `openai`?
unknown model `gemini`; use `builtin`, `script:FILE`, `chaos:KIND`, `openai:MODEL` or `ollama:MODEL`
`openai` lacks its model; write `openai:MODEL`
`openai:` lacks its model; write `openai:MODEL`
`script:` lacks its file; write `script:FILE`
unknown kind `loop` in `chaos:loop`; the kinds are repeat, ping-pong, forbidden, unknown, malformed, flood, silent, never-ends
nothing goes after `builtin` in `builtin:x`
`anthropic:` is not built yet; use `openai:MODEL` with `--base-url` of a server that speaks OpenAI's chat completions
`openai:gpt-4o` needs a key; set the environment variable `OPENAI_API_KEY`, or name another server with `--base-url`
"###);
}

#[test]
fn a_base_url_is_checked_and_goes_with_servers_only() {
    let at = |url: &str| Options { base_url: Some(url.to_owned()), ..Options::default() };
    let said = [
        refused("builtin", &at("http://localhost/v1")),
        refused("openai:x", &at("localhost:8080")),
        refused("openai:x", &at("not an address")),
        refused("openai:x", &at("http://me:hunter2hunter2@localhost/v1")),
    ];
    insta::assert_snapshot!(said.join("\n"), @r###"
`--base-url` goes with `openai:MODEL` and `ollama:MODEL` only
the base URL does not begin with `http://` or `https://`; write it like `http://127.0.0.1:8080/v1`
the base URL is not an address; write it like `http://127.0.0.1:8080/v1`
the base URL holds a user or a password; put the key into the environment variable `OPENAI_API_KEY`
"###);
    assert!(build("openai:x", &at("http://localhost:8080/v1/")).is_ok());
}

#[test]
fn a_key_that_no_header_can_carry_is_refused_without_being_shown() {
    let options = Options { api_key: Secret::new("sk-secret\nwith a line break"), ..Options::default() };
    assert_eq!(refused("openai:x", &options), "the API key holds characters that no header can carry");
    assert!(!format!("{options:?}").contains("sk-secret"));
}
