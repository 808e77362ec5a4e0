//! /proc/stat: CPU time of the machine and of each core.

use crate::error::ReadError;
use crate::text::{fields, lines, number};
use record::counter::CpuTicks;
use std::path::Path;

/// Parses the line of the machine, and those of the cores in order.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<(Option<CpuTicks>, Vec<CpuTicks>), ReadError> {
    let mut all = None;
    let mut cores = Vec::new();
    for (line_number, line) in lines(text) {
        let mut fields = fields(line);
        let Some(label) = fields.next() else { continue };
        let Some(core) = label.strip_prefix(b"cpu") else {
            // The cpu lines come first; the rest of the file (interrupts) is long and not needed.
            if all.is_some() {
                break;
            }
            continue;
        };
        let ticks = ticks(fields)
            .ok_or_else(|| ReadError::parse(path, line_number, line, "`cpu` and at least 4 numbers"))?;
        if core.is_empty() {
            all = Some(ticks);
        } else {
            cores.push(ticks);
        }
    }
    Ok((all, cores))
}

/// Parses fields in the order of proc(5): user nice system idle iowait irq softirq steal.
fn ticks<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> Option<CpuTicks> {
    let mut required = || number(fields.next()?);
    let (user, nice, system, idle) = (required()?, required()?, required()?, required()?);
    // A missing field means that the kernel doesn't count it; an unreadable one is an error.
    let mut optional = || fields.next().map_or(Some(None), |field| number(field).map(Some));
    let (iowait, hard, soft, steal) = (optional()?, optional()?, optional()?, optional()?);
    Some(CpuTicks {
        user: user.checked_add(nice)?,
        system,
        idle,
        iowait,
        irq: hard.zip(soft).map(|(hard, soft)| hard + soft),
        steal,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use record::counter::CpuTicks;
    use std::path::Path;

    #[test]
    fn the_machine_and_its_cores() {
        let text = b"cpu  32969 1 10908 173673 6706 3 224 858 0 0\n\
            cpu0 15250 0 4274 89878 2881 1 27 422 0 0\n\
            cpu1 17718 1 6634 83794 3825 2 197 436 0 0\nintr 12 0 0\nctxt 9\n";
        let (all, cores) = parse(Path::new("/proc/stat"), text).unwrap();
        let expected = CpuTicks {
            user: 32970,
            system: 10908,
            idle: 173_673,
            iowait: Some(6706),
            irq: Some(227),
            steal: Some(858),
        };
        assert_eq!(all, Some(expected));
        assert_eq!(cores.len(), 2);
        assert_eq!((cores[1].user, cores[1].irq), (17719, Some(199)));
    }

    #[test]
    fn what_an_old_kernel_does_not_count_is_none() {
        let (all, cores) = parse(Path::new("/proc/stat"), b"cpu 1 2 3 4\n").unwrap();
        let all = all.unwrap();
        assert_eq!((all.user, all.iowait, all.irq, all.steal), (3, None, None, None));
        assert!(cores.is_empty());
    }

    #[test]
    fn garbage_names_its_line() {
        let said = parse(Path::new("/proc/stat"), b"cpu 1 2 3 4\ncpu0 1 2 x 4\n").unwrap_err().to_string();
        assert_eq!(said, "/proc/stat:2: expected `cpu` and at least 4 numbers, found `cpu0 1 2 x 4`");
    }
}
