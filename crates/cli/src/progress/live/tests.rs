//! Frames from a state, without a terminal. The log of events is from a real run (`diskproof run --json`).

use super::frame::draw;
use super::give_back_on_panic;
use super::keys::Key;
use super::screen::Screen;
use super::state::{State, Wish};
use crate::progress::tracker::Tracker;
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;
use record::event::{Event, MachinesHeard, Stopped};
use record::id::CellId;
use record::plan::Plan;
use std::io::{Read as _, Seek as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The sizes in which every frame is tried.
const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (200, 60)];

/// The plan of the recorded run.
fn plan() -> Plan {
    let text = include_str!("recorded/experiment.yaml");
    let mut plan = spec::parse(text, "experiment.yaml", "/".as_ref(), &Default::default()).unwrap().plan;
    plan.seed = 7;
    plan
}

/// The recorded events, in order, each with the milliseconds since the first one.
fn recorded() -> Vec<(u64, Event)> {
    let packed = include_bytes!("recorded/events.jsonl.zst");
    let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let timed = |line: &str| {
        let (at, event) = line.split_once(' ').unwrap();
        (at.parse().unwrap(), serde_json::from_str(event).unwrap())
    };
    text.lines().map(timed).collect()
}

fn state(plan: &Plan, blank: bool, now: Instant) -> State {
    State::new(plan, Tracker::new(plan, 0), blank, now)
}

/// The frame as text, without blanks at the ends of lines.
fn frame(state: &mut State, now: Instant, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(state, now, frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

/// Replays the recorded events until `until` holds, with a load in each measured time; returns the state and the time.
fn replayed(plan: &Plan, mut until: impl FnMut(&Event) -> bool) -> (State, Instant) {
    let begun = Instant::now();
    let mut state = state(plan, false, begun);
    let mut now = begun;
    for (at, event) in recorded() {
        now = begun + Duration::from_millis(at);
        state.take(&event, now);
        if until(&event) {
            break;
        }
    }
    (state, now)
}

fn is_step(event: &Event, name: &str) -> bool {
    matches!(event, Event::Step { cell: Some(_), step, .. } if step == name)
}

#[test]
fn a_recorded_run_is_shown_in_every_size() {
    let plan = plan();
    let mut measured = 0;
    let fifth_load = |event: &Event| {
        measured += usize::from(is_step(event, "measure"));
        measured == 5
    };
    let (mut state, now) = replayed(&plan, fifth_load);
    let cell = state.plan.cells[state.current.unwrap()].id.clone();
    let load = sampled(&cell, Some(12_290.0), Some(5.21), Some(0.98));
    state.take(&load, now);
    for size in SIZES {
        insta::assert_snapshot!(format!("{}x{}", size.0, size.1), frame(&mut state, now, size));
    }
}

/// A load of so many IOPS at the devices, with what its engine tells of itself.
fn sampled(cell: &CellId, own: Option<f64>, p99_ms: Option<f64>, share: Option<f64>) -> Event {
    Event::LoadSampled {
        cell: cell.clone(),
        iops: Some(12_345.0),
        bytes_per_second: Some(50.6e6),
        wait_ms: Some(0.31),
        load_iops: own,
        load_p99_ms: p99_ms,
        device_share: share,
        machines: None,
    }
}

#[test]
fn the_load_of_several_machines_is_their_sum() {
    let plan = plan();
    let (mut state, now) = replayed(&plan, |event| is_step(event, "measure"));
    let cell = plan.cells[state.current.unwrap()].id.clone();
    let Event::LoadSampled { wait_ms, .. } = sampled(&cell, None, None, None) else { panic!("a load") };
    let mut lines = |iops: Option<f64>, own: Option<f64>, size| {
        let event = Event::LoadSampled {
            cell: cell.clone(),
            iops,
            bytes_per_second: iops.map(|iops| 4096.0 * iops),
            wait_ms: iops.and(wait_ms),
            load_iops: own,
            load_p99_ms: None,
            device_share: None,
            machines: Some(MachinesHeard { heard: 2, of: 3 }),
        };
        state.take(&event, now);
        let text = frame(&mut state, now, size);
        text.lines().skip(2).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let wide = lines(None, Some(3000.0), (80, 24));
    assert_eq!(wide, ["  the load now: 3,000 IOPS, 2 of 3 machines heard", "  at the devices now: unknown"]);
    let narrow = lines(Some(500.0), Some(3000.0), (40, 12));
    assert_eq!(narrow[0], "  3,000 IOPS, 2 of 3 machines heard");
}

#[test]
fn what_the_engine_does_not_tell_is_unknown() {
    let plan = plan();
    let (mut state, now) = replayed(&plan, |event| is_step(event, "measure"));
    let cell = plan.cells[state.current.unwrap()].id.clone();
    let mut lines = |event: &Event, size| {
        state.take(event, now);
        let text = frame(&mut state, now, size);
        text.lines().skip(2).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let wide = lines(&sampled(&cell, None, None, None), (80, 24));
    assert_eq!(wide[0], "  the load now: - IOPS, p99 -, device -");
    assert_eq!(wide[1], "  at the devices now: 12,300 IOPS, 50.6 MB/s, 310 us per I/O");
    let narrow = lines(&sampled(&cell, None, None, None), (40, 12));
    assert!(narrow[0].starts_with("  at the devices now: 12,300 IOPS"), "{narrow:?}");
    let few = lines(&sampled(&cell, Some(80.0), None, Some(0.004)), (40, 12));
    assert_eq!(few[0], "  80.0 IOPS, p99 -, device 0.4 %");
}

#[test]
fn details_show_the_trials_the_findings_and_what_an_undo_takes_back() {
    let plan = plan();
    let (mut state, now) = replayed(&plan, |event| matches!(event, Event::RoundFinished { rounds: 2, .. }));
    assert_eq!(state.press(Key::Char('d')), None);
    insta::assert_snapshot!("details", frame(&mut state, now, (80, 24)));
    state.press(Key::End);
    let end = frame(&mut state, now, (40, 12));
    let foot = end.lines().rev().take(2).collect::<Vec<_>>();
    assert!(foot[0].starts_with("s skip") && foot[1].starts_with("to undo"), "{end}");
    state.press(Key::Escape);
    assert!(frame(&mut state, now, (80, 24)).contains("so far"), "the matrix is back");
}

#[test]
fn every_recorded_state_fits_every_size_and_no_meaning_is_told_by_colour_alone() {
    let plan = plan();
    let begun = Instant::now();
    let mut state = state(&plan, false, begun);
    for (at, event) in recorded() {
        let now = begun + Duration::from_millis(at);
        state.take(&event, now);
        for width in [0, 1, 5, 39, 40, 81] {
            for height in [0, 1, 2, 5, 12, 25] {
                let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
                draw(&mut state, now, &mut buffer);
            }
        }
    }
    let text = frame(&mut state, begun, (120, 24));
    assert!(text.contains("as asked") || text.contains("too wide"), "{text}");
}

#[test]
fn keys_select_skip_after_a_question_end_and_stop_once() {
    let plan = plan();
    let now = Instant::now();
    let mut state = state(&plan, false, now);
    let second = state.cells[1].id.clone();
    state.press(Key::Down);
    assert_eq!(state.press(Key::Char('s')), None, "it asks first");
    assert!(frame(&mut state, now, (80, 24)).contains("s again: no more trials of"));
    assert_eq!(state.press(Key::Char('x')), None, "any other key: no");
    state.press(Key::Char('s'));
    assert_eq!(state.press(Key::Char('s')), Some(Wish::Skip(second.clone())));
    assert!(frame(&mut state, now, (100, 24)).contains("to be skipped"));
    state.press(Key::Char('s'));
    assert_eq!(state.press(Key::Char('s')), None, "it is skipped already");
    state.take(&Event::CellSkipped { cell: second, round: 0 }, now);
    assert!(frame(&mut state, now, (100, 24)).contains("skipped"));

    assert_eq!(state.press(Key::Char('e')), Some(Wish::EndAfterRound(true)));
    assert!(frame(&mut state, now, (80, 24)).contains("e don't end after this round"));
    assert_eq!(state.press(Key::Char('e')), Some(Wish::EndAfterRound(false)));
    assert_eq!(state.press(Key::Char('q')), Some(Wish::Stop));
    assert_eq!(state.press(Key::Char('q')), None, "once");
}

#[test]
fn the_selection_follows_the_current_cell_until_the_user_moves_it() {
    let plan = plan();
    let now = Instant::now();
    let mut state = state(&plan, false, now);
    let started = |place: usize| Event::TrialStarted {
        cell: plan.cells[place].id.clone(),
        round: 0,
        index: 0,
        tried: None,
    };
    state.take(&started(1), now);
    assert_eq!(state.selected, 1);
    state.press(Key::Home);
    state.take(&started(1), now);
    assert_eq!((state.selected, state.current), (0, Some(1)));
    state.press(Key::End);
    assert_eq!(state.selected, plan.cells.len() - 1);
}

#[test]
fn many_cells_scroll_and_the_selected_one_stays_in_view() {
    let mut plan = plan();
    let one = plan.cells[0].clone();
    plan.cells = (0..100)
        .map(|n| {
            let mut cell = one.clone();
            cell.id = CellId(format!("c{n}"));
            cell.stack.name = format!("stack-{n:02}");
            cell.workload.name = "w".to_owned();
            cell
        })
        .collect();
    let now = Instant::now();
    let mut state = state(&plan, false, now);
    for presses in 0..30 {
        for size in SIZES {
            let text = frame(&mut state, now, size);
            assert!(text.contains(&format!("stack-{:02}", state.selected)), "{presses} {size:?}\n{text}");
        }
        state.press(if presses % 3 == 0 { Key::PageDown } else { Key::Down });
    }
    assert!(frame(&mut state, now, (80, 24)).contains("of 100"));
}

#[test]
fn a_blank_view_shows_one_sentence_while_a_load_runs() {
    let plan = plan();
    let now = Instant::now();
    let mut state = state(&plan, true, now);
    let cell = plan.cells[0].id.clone();
    let step = |step: &str| Event::Step { cell: Some(cell.clone()), step: step.to_owned(), done: None };
    state.take(&Event::TrialStarted { cell: cell.clone(), round: 0, index: 0, tried: None }, now);
    state.take(&step("measure"), now);
    assert!(state.is_blank());
    let before = frame(&mut state, now, (80, 24));
    assert!(before.contains("The view is blank until this load ends"), "{before}");
    assert_eq!(frame(&mut state, now + Duration::from_secs(60), (80, 24)), before, "it has no clock");
    state.take(&step("undo"), now);
    assert!(!state.is_blank());
}

#[test]
fn what_is_left_of_the_budgets_is_told() {
    let mut plan = plan();
    plan.measure.max_seconds = Some(3600.0);
    plan.measure.max_written_bytes = Some(100 << 30);
    plan.measure.max_cost = Some(2.0);
    plan.prices.currency = Some("EUR".to_owned());
    let now = Instant::now();
    let mut state = state(&plan, false, now);
    let (seconds, written_bytes) = (600.0, (20_u64 << 30) as f64);
    state.take(&Event::Spent { seconds, written_bytes, cost: Some(0.5) }, now);
    let text = frame(&mut state, now + Duration::from_secs(60), (120, 24));
    let told =
        "time: 49 min 0 s of 1 h 0 min left; writes: 80 GiB of 100 GiB left; money: 1.50 of 2.00 EUR left";
    assert!(text.contains(told), "{text}");
}

#[test]
fn hostile_names_are_text() {
    let mut plan = plan();
    plan.experiment = "a\x1b[2Jb".to_owned();
    let now = Instant::now();
    let mut state = state(&plan, false, now);
    state.take(&Event::Warning { text: "evil \x1b]0;title\x07\u{202e}text".to_owned() }, now);
    state.take(&Event::RunFinished { stopped: Stopped::Interrupted }, now);
    for size in SIZES {
        let text = frame(&mut state, now, size);
        assert!(!text.replace('\n', "").contains(record::printable::is_hidden), "{text:?}");
    }
}

#[test]
fn a_panic_of_any_thread_gives_the_terminal_back_once() {
    let mut kept = tempfile::tempfile().unwrap();
    let screen = Arc::new(Screen::new(kept.try_clone().unwrap(), None));
    screen.take().unwrap();
    give_back_on_panic(&screen);
    assert!(screen.is_ours());
    std::thread::spawn(|| panic!("as this test wants it")).join().unwrap_err();
    assert!(!screen.is_ours());
    screen.write(b"a frame that comes too late").unwrap();
    screen.give_back();
    let mut text = String::new();
    kept.rewind().unwrap();
    kept.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("\x1b[?1049h") && text.ends_with("\x1b[?25h\x1b[?1049l"), "{text:?}");
    assert_eq!(text.matches("\x1b[?1049l").count(), 1, "{text:?}");
}
