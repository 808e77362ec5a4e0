//! The figure of a cell while the run goes on.

use super::Ledger;
use record::event::Event;
use record::id::CellId;
use record::metric::info;
use stats::{Estimate, Sought, mean_t, trimmed_mean};

impl Ledger<'_> {
    /// The figure of a cell over its trials so far, with the interval that the result would show if the run ended now. `None` for a search,
    /// whose trials have different levels, and without two trials that count.
    pub(crate) fn estimate(&self, id: &CellId) -> Option<Event> {
        let place = self.plan.cells.iter().position(|cell| cell.id == *id)?;
        let figures = self.cells[place].figures(self.plan, self.round + 1);
        let figures: Vec<f64> = figures.into_iter().flatten().collect();
        let so_far = self.interval(&figures).filter(Estimate::is_bounded)?;
        let of = self.plan.figure_name(&self.plan.cells[place]);
        Some(Event::CellEstimated {
            cell: id.clone(),
            of: of.to_owned(),
            unit: info(of).map_or("1", |metric| metric.unit).to_owned(),
            estimate: so_far.value,
            low: so_far.low.max(0.0),
            high: so_far.high,
            confidence: so_far.confidence,
            trials: u32::try_from(so_far.n).unwrap_or(u32::MAX),
        })
    }

    fn interval(&self, figures: &[f64]) -> Option<Estimate> {
        let measure = &self.plan.measure;
        if self.wants().is_some() {
            return Sought { confidence: measure.confidence, trim: measure.trim }.mean(figures);
        }
        match (self.question, measure.trim) {
            (Some(question), trim) => question.rule(measure.confidence, 1)?.trimmed(trim).mean(figures, &[]),
            (None, Some(share)) => trimmed_mean(figures, share, measure.confidence),
            (None, None) => mean_t(figures, measure.confidence),
        }
    }
}
