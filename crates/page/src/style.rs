//! The style sheets. They hold no character that HTML would escape.

/// The colours and the shapes of pictures; `report --chart` writes them into the file.
pub(crate) const CHART: &str = include_str!("style/chart.css");

/// Everything else on a page.
pub(crate) const PAGE: &str = include_str!("style/page.css");

/// That of the viewer of courses (assets/uplot/README.md says where it comes from).
pub(crate) const VIEWER: &str = include_str!("../assets/uplot/uPlot.min.css");

#[cfg(test)]
mod tests {
    use super::{CHART, PAGE, VIEWER};

    #[test]
    fn a_style_sheet_needs_no_escape_and_no_network() {
        for style in [CHART, PAGE, VIEWER] {
            assert!(!style.contains(['<', '&']) && !style.contains("url(") && !style.contains("@import"));
        }
    }
}
