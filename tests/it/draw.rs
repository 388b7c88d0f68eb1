//! Every shipped table as a picture: text, SVG, Mermaid, Graphviz.

use stagekeeper::StageTable;
use stagekeeper::render::{Picture, draw};
use std::fs;
use std::path::Path;

const PICTURES: [(&str, Picture); 4] =
    [("txt", Picture::Text), ("svg", Picture::Svg), ("mmd", Picture::Mermaid), ("dot", Picture::Dot)];

fn shipped() -> Vec<(String, StageTable)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("stages");
    let mut tables: Vec<(String, StageTable)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .filter_map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            // Sets of messages stand beside the tables.
            let beside = &mut |name: &str| fs::read_to_string(path.with_file_name(name)).map_err(|e| e.to_string());
            let name = path.display().to_string();
            let table = text.contains("\nstages:").then(|| StageTable::parse_with(&name, &text, beside).unwrap())?;
            Some((path.file_stem().unwrap().to_str().unwrap().to_owned(), table))
        })
        .collect();
    tables.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(tables.len() >= 3);
    tables
}

#[test]
fn every_shipped_table_is_drawn_as_it_was() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots/tables");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, table) in shipped() {
            for (ending, picture) in PICTURES {
                insta::assert_snapshot!(format!("{name}.{ending}"), draw(&table, picture));
            }
        }
    });
}

#[test]
fn a_text_fits_eighty_columns() {
    for (name, table) in shipped() {
        for line in draw(&table, Picture::Text).lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

#[test]
fn every_picture_shows_every_stage_and_the_ceiling() {
    for (name, table) in shipped() {
        for (ending, picture) in PICTURES {
            let drawn = draw(&table, picture);
            assert!(drawn.contains(&format!("ceiling: {} step", table.ceiling())), "{name}.{ending}");
            for stage in stage_names(&name) {
                let shown = if ending == "mmd" { stage.replace('_', "#95;") } else { stage.clone() };
                assert!(drawn.contains(&shown), "{name}.{ending} lacks {stage}");
            }
        }
    }
}

/// The names below `stages:`, read from the file without the loader.
fn stage_names(table: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("stages").join(format!("{table}.yaml"));
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().skip_while(|line| *line != "stages:").skip(1);
    let stages = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '#']));
    let names =
        stages.filter(|line| line.starts_with("  ") && !line.starts_with("   ") && !line.trim().starts_with('#'));
    names.filter_map(|line| line.trim().split_once(':').map(|(name, _)| name.to_owned())).collect()
}

#[test]
fn a_table_of_ten_thousand_stages_is_drawn_in_bounded_time() {
    let stages: String =
        (0..10_000).map(|n| format!("  s{n}: {{ goal: Go on., allowed_tools: [t], max_steps: 1 }}\n")).collect();
    let table = StageTable::parse(&format!("stagekeeper: 1\nworkflow: long\nstages:\n{stages}")).unwrap();
    for (_, picture) in PICTURES {
        assert!(draw(&table, picture).len() < 20_000_000);
    }
}
