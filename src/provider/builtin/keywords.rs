//! What a task is about, as words to search for. No language model: quoted words, names of files, identifiers, and the
//! longest words that are not among the commonest.

use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Most keywords of one task.
pub(super) const MOST: usize = 6;
/// How much of a task is looked at, in characters.
const TASK_CHARS: usize = 8000;
/// Longest keyword, in characters.
const LONGEST: usize = 60;
/// Shortest plain word worth a search, in characters.
const SHORTEST: usize = 3;

/// Words of everyday English and of reports: found everywhere, telling nothing.
const COMMON: &str = " a about above after again all also always am an and another any are as at back be because been \
    before being below between both bug bugs but by call called can cannot cause caused causes check code could defect \
    did do does doing done down during each else error errors even every fail failed fails file files find first fix \
    fixed folder for from further gets give given gives goes good got had has have having help her here his how however \
    i if in into is issue it its itself just keep know last let like line lines look looks made mail make makes many may \
    me mention mentions might more most much must my need needs never new no nor not nothing now of off often on once one \
    only or other our out over own place please point problem project program read report reported reports repository \
    root same say says see seems send sent set she should show shows since so some someone something sometimes still \
    stop such sure take task tell than that the their them then there these they thing things this those three through \
    time to too try two under until up upon us use used user users using very want wants was way we well were what when \
    whenever where whether which while who whole whose why will with without word words work works would write written \
    wrong yes yet you your ";

/// Words of a task that speak of a failure at run time: they say what happens, seldom where.
const FAILING: [&str; 10] =
    ["crash", "panic", "abort", "exception", "segfault", "traceback", "null", "unwrap", "hang", "overflow"];

static MAIL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+").ok());
static NOISE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"https?://\S+").ok());
static QUOTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"`([^`\n]+)`|"([^"\n]+)"|“([^”\n]+)”|(?:^|[\s(])'([^'\n]+)'"#).ok());
static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\p{L}\p{N}_][\p{L}\p{N}_./:-]*").ok());
static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}$|^(?:[\w.-]+/)+[\w.-]*$").ok()
});

/// One word to search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keyword {
    /// The text to look for, without regard to case.
    pub text: String,
    /// How telling it is likely to be, from 1.
    pub weight: u32,
}

/// What a task mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// The words to search for, most telling first.
    pub keywords: Vec<Keyword>,
    /// Files and folders it names.
    pub files: Vec<String>,
    /// The first mail address.
    pub mail: Option<String>,
}

impl Mentions {
    pub(super) fn of(task: &str) -> Self {
        let task: String = task.chars().take(TASK_CHARS).collect();
        let mail = MAIL.as_ref().and_then(|mail| mail.find(&task)).map(|found| found.as_str().to_owned());
        let mut rest = task;
        for noise in [&MAIL, &NOISE].into_iter().filter_map(|r| r.as_ref()) {
            rest = noise.replace_all(&rest, " ").into_owned();
        }
        let mut mentions = Self { mail, ..Self::default() };
        for found in QUOTED.iter().flat_map(|quoted| quoted.captures_iter(&rest)) {
            if let Some(inner) = found.iter().skip(1).flatten().next() {
                mentions.quoted(inner.as_str().trim());
            }
        }
        for found in WORD.iter().flat_map(|word| word.find_iter(&rest)) {
            mentions.word(found.as_str().trim_end_matches(['.', ':', '/', '-']));
        }
        mentions.rank();
        mentions
    }

    fn quoted(&mut self, text: &str) {
        let is_code = text.contains(|c: char| c.is_alphanumeric()) && text.chars().count() <= LONGEST;
        if is_file(text) {
            self.file(text);
        } else if is_code {
            self.keyword(text.trim_end_matches("()"), 6);
        }
    }

    fn word(&mut self, word: &str) {
        let length = word.chars().count();
        if is_file(word) {
            self.file(word);
        } else if word.contains(|c: char| c.is_alphabetic() && !c.is_ascii() && is_unspaced(c)) {
            self.unspaced(word);
        } else if is_identifier(word) {
            self.keyword(word, 5);
        } else {
            if word.contains('-') && word.contains(|c: char| c.is_uppercase()) {
                self.keyword(word, 4);
            }
            for part in word.split(['/', ':', '.', '-']) {
                let lower = part.to_lowercase();
                let telling = part.chars().count() >= SHORTEST && part.contains(|c: char| c.is_alphabetic());
                if telling && !COMMON.contains(&format!(" {lower} ")) {
                    let long = u32::from(length >= 6) + u32::from(length >= 9);
                    self.keyword(&stem(&lower), if is_of_failure(&lower) { 1 } else { 1 + long });
                }
            }
        }
    }

    /// Scripts that put no space between words: pairs of characters serve as words.
    fn unspaced(&mut self, text: &str) {
        let chars: Vec<char> = text.chars().filter(|c| c.is_alphanumeric()).collect();
        for pair in chars.chunks(2).take(MOST) {
            if pair.len() == 2 {
                self.keyword(&pair.iter().collect::<String>(), 2);
            }
        }
    }

    fn file(&mut self, path: &str) {
        let path = path.trim_start_matches("./");
        if !path.is_empty() && !self.files.iter().any(|known| known == path) {
            self.files.push(path.to_owned());
        }
    }

    fn keyword(&mut self, text: &str, weight: u32) {
        match self.keywords.iter_mut().find(|k| k.text.eq_ignore_ascii_case(text)) {
            Some(known) => known.weight = known.weight.max(weight) + 1,
            None => self.keywords.push(Keyword { text: text.to_owned(), weight }),
        }
    }

    fn rank(&mut self) {
        // The sort is stable: what is equally telling stays in the order of the task.
        self.keywords.sort_by_key(|k| std::cmp::Reverse((k.weight, k.text.chars().count())));
        self.keywords.truncate(MOST);
    }
}

/// Whether a word speaks of a failure at run time.
pub(super) fn is_of_failure(word: &str) -> bool {
    let word = word.to_lowercase();
    FAILING.iter().any(|failing| word.starts_with(failing))
}

fn is_file(word: &str) -> bool {
    let version = word.split('.').all(|part| part.chars().all(|c| c.is_ascii_digit()));
    let abbreviation = ["e.g", "i.e"].contains(&word.to_lowercase().as_str());
    !version && !abbreviation && !word.contains("::") && FILE.as_ref().is_some_and(|file| file.is_match(word))
}

fn is_identifier(word: &str) -> bool {
    let mut pairs = word.chars().zip(word.chars().skip(1));
    let humps = pairs.any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let shouted = letters >= 3 && !word.chars().any(char::is_lowercase);
    letters >= 2 && (word.contains('_') || word.contains("::") || humps || shouted)
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{e00}'..='\u{eff}')
}

/// The word without its ending, so that `crashes` finds `crash` and `retries` finds `retry`.
fn stem(word: &str) -> Cow<'_, str> {
    let kept = |ending: &str| word.strip_suffix(ending).filter(|stem| stem.chars().count() >= 4);
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return Cow::Borrowed(word);
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.chars().count() >= 3) {
        return Cow::Owned(format!("{stem}y"));
    }
    let hisses = ["sses", "shes", "ches", "xes"].iter().any(|ending| word.ends_with(ending));
    let stem = kept("ing").or_else(|| kept("ed")).or_else(|| kept("es").filter(|_| hisses)).or_else(|| kept("s"));
    Cow::Borrowed(stem.unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(task: &str) -> Vec<String> {
        Mentions::of(task).keywords.into_iter().map(|k| k.text).collect()
    }

    #[test]
    fn identifiers_and_quotes_come_first_and_common_words_are_left_out() {
        assert_eq!(words("Login crashes on an empty name."), ["login", "crash", "empty", "name"]);
        let task = "Please find why `parse_row()` fails when the \"total amount\" is missing in OrderList.";
        assert_eq!(words(task), ["parse_row", "total amount", "OrderList", "amount", "miss", "total"]);
        assert_eq!(words("The parties of a party mingle at Party-Time"), ["Party-Time", "party", "mingle"]);
        assert!(words("please fix the bug").is_empty());
    }

    #[test]
    fn files_and_mail_addresses_are_told_from_words() {
        let found = Mentions::of(
            "In src/table/model.rs and build.rs, version 1.2.3, e.g. for ann@example.org, see https://a.b/c.d",
        );
        assert_eq!(found.files, ["src/table/model.rs", "build.rs"]);
        assert_eq!(found.mail.as_deref(), Some("ann@example.org"));
        assert_eq!(words("mail bob@x.org."), Vec::<String>::new());
    }

    #[test]
    fn a_task_without_spaces_between_words_has_keywords_too() {
        assert_eq!(words("登录时崩溃"), ["登录", "时崩"]);
    }

    #[test]
    fn a_huge_task_is_bounded() {
        assert_eq!(words(&"wordy_one wordy_two x1_y2 ab_cd ef_gh ij_kl mn_op ".repeat(100_000)).len(), MOST);
    }
}
