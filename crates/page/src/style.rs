//! The style sheets. They hold no character that HTML would escape.

/// The colours and the shapes of pictures; `report --chart` writes them into the file.
pub(crate) const CHART: &str = include_str!("style/chart.css");

/// Everything else on a page.
pub(crate) const PAGE: &str = include_str!("style/page.css");

#[cfg(test)]
mod tests {
    use super::{CHART, PAGE};

    #[test]
    fn a_style_sheet_needs_no_escape_and_no_network() {
        for style in [CHART, PAGE] {
            assert!(!style.contains(['<', '&']) && !style.contains("url(") && !style.contains("@import"));
        }
    }
}
