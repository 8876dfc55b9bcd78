//! Reads damaged text rows if reading continues past errors.
//!
//! Here, unlike in the format itself, lines matter: a line that contains a word that is not a number, or too few words,
//! is skipped as a row. Skipped rows are counted, so that indices remain valid. Extra words after a row are dropped
//! unless they form complete rows.

use super::super::lines::{PlyLinesParsed, PlySegment};
use super::super::words::{Fed, PlyFault, PlyWordsProgress, words};
use super::{CARRIED, PlyTextJob, PlyTextSlot, RowsOf, Serial, close, line_start};
use polyhaul_model::error::{Diagnostic, Error, Result, try_push};
use std::ops::Range;

/// Skipped rows and dropped values.
#[derive(Default)]
pub(super) struct PlyDamage {
    /// Indices of the element and the row, for each skipped row.
    pub(super) rows: Vec<(usize, u64)>,
    pub(super) first_row: Option<Diagnostic>,
    /// Number of dropped values.
    pub(super) extra: u64,
    pub(super) first_extra: Option<Diagnostic>,
}

/// Parses the lines of a chunk.
struct LineTaker<'t, 's, 'a> {
    job: &'t PlyTextJob<'s, 'a>,
    slot: &'t PlyTextSlot,
    serial: &'t mut Serial,
    parsed: PlyLinesParsed,
    damage: PlyDamage,
    row_start: usize,
    segment: Option<PlySegment>,
    /// First word of the incomplete row, if it is in this chunk.
    begun: Option<Range<usize>>,
    scratch: Vec<u8>,
    extra: Option<usize>,
    error: Option<Error>,
}

impl PlyTextJob<'_, '_> {
    /// Parses lines, starting at `from`, which must be the start of a line.
    pub(super) fn take_lines(&self, serial: &mut Serial, from: usize, slot: &mut PlyTextSlot) -> Result<()> {
        let mut parsed = std::mem::take(&mut slot.parsed);
        let row_start = parsed.rows.len();
        parsed.rows.try_reserve(serial.partial.len()).map_err(|_| Error::memory("a row"))?;
        parsed.rows.append(&mut serial.partial);
        let mut taker = LineTaker {
            job: self,
            slot,
            serial,
            parsed,
            damage: PlyDamage::default(),
            row_start,
            segment: None,
            begun: None,
            scratch: Vec::new(),
            extra: None,
            error: None,
        };
        let end = slot.text.end;
        let mut at = from;
        let mut line: Vec<Range<usize>> = Vec::new();
        while at < end && taker.extra.is_none() && taker.error.is_none() {
            let next = line_start(slot.text.padded(), at, end, 1);
            // Without a newline, `line_start` returns `at`: the line extends to the end of the text.
            let next = if next == at { end } else { next };
            line.clear();
            for word in words(slot.text.padded(), at, next) {
                try_push(&mut line, word, "a line")?;
            }
            taker.line(&line)?;
            at = next;
        }
        let LineTaker { mut parsed, damage, row_start, mut segment, begun, extra, error, .. } = taker;
        close(&mut segment, row_start, &mut parsed.segments)?;
        slot.parsed = parsed;
        slot.damage = damage;
        slot.extra = slot.extra.or(extra);
        slot.error = slot.error.take().or(error);
        self.carry(serial, row_start, begun, slot)
    }
}

impl LineTaker<'_, '_, '_> {
    fn line(&mut self, line: &[Range<usize>]) -> Result<()> {
        let Some(first) = line.first() else { return Ok(()) };
        if !self.serial.progress.is_fresh() && self.is_row(line)? && !self.completes(line)? {
            let message = "the row ends too early";
            self.leave_out(first.clone(), PlyFault { message: message.into(), expected: "more values".into() })?;
        }
        let mut is_checked = false;
        for (at, word) in line.iter().enumerate() {
            if self.job.order.find(self.serial.row).is_none() {
                if at > 0 {
                    self.drop_extra(&line[at..]);
                } else {
                    self.extra = Some(word.start);
                }
                return Ok(());
            }
            if !is_checked && at > 0 && self.serial.progress.is_fresh() {
                if (self.job.rows_of == RowsOf::EachLine) || !self.are_rows(&line[at..])? {
                    self.drop_extra(&line[at..]);
                    return Ok(());
                }
                self.serial.has_shared_line = true;
                is_checked = true;
            }
            if let Some(fault) = self.word(word)? {
                return self.leave_out(word.clone(), fault);
            }
        }
        let is_cut = (self.job.rows_of == RowsOf::EachLine) && !self.serial.progress.is_fresh();
        if is_cut && let Some(last) = line.last() {
            let fault = PlyFault { message: "the row ends too early".into(), expected: "more values".into() };
            return self.leave_out(last.clone(), fault);
        }
        Ok(())
    }

    /// Parses a word. Returns a fault if it is not what the row requires there.
    fn word(&mut self, word: &Range<usize>) -> Result<Option<PlyFault>> {
        let Some((number, row, _)) = self.job.order.find(self.serial.row) else { return Ok(None) };
        let target = self.job.targets[number];
        self.open(number, row, word.start)?;
        if self.serial.progress.is_fresh() {
            self.begun = Some(word.clone());
        }
        let text = &self.slot.text.padded()[word.clone()];
        let fed = match self.serial.progress.feed(target.element, text, &mut self.parsed.rows)? {
            Ok(fed) => fed,
            Err(fault) => return Ok(Some(fault)),
        };
        if self.serial.progress.was_decimal {
            self.parsed.decimals.add(word.clone());
        }
        if fed == Fed::Last {
            self.end_row(number)?;
        }
        let limit = self.job.chunks.line_bytes();
        if (self.parsed.rows.len() - self.row_start) as u64 > limit {
            let place = self.job.placed(self.slot, word.clone()).0;
            self.error = Some(target.too_long(row, limit, place));
        }
        Ok(None)
    }

    /// Opens a segment for a row, unless the current segment can take it.
    fn open(&mut self, number: usize, row: u64, at: usize) -> Result<()> {
        if self.segment.as_ref().is_none_or(|segment| segment.element != number) {
            close(&mut self.segment, self.row_start, &mut self.parsed.segments)?;
            self.segment = Some(PlySegment::new(number, row, self.job.targets, (self.row_start, at))?);
        }
        Ok(())
    }

    fn end_row(&mut self, number: usize) -> Result<()> {
        let start = self.begun.take().map_or(CARRIED, |word| word.start as u32);
        if let Some(segment) = &mut self.segment {
            try_push(&mut segment.starts, start, "rows")?;
            segment.count(&self.job.targets[number].sink.layout, &self.parsed.rows[self.row_start..]);
        }
        self.serial.row += 1;
        self.row_start = self.parsed.rows.len();
        Ok(())
    }

    /// Replaces the incomplete row with zeros and empty lists.
    fn leave_out(&mut self, word: Range<usize>, fault: PlyFault) -> Result<()> {
        if self.serial.has_shared_line {
            // With several rows per line, the words cannot be assigned to rows.
            if let Some((_, row, _)) = self.job.order.find(self.serial.row) {
                self.error = Some(self.job.fault(self.slot, word, fault, row));
            }
            return Ok(());
        }
        let Some((number, row, _)) = self.job.order.find(self.serial.row) else { return Ok(()) };
        if self.damage.first_row.is_none() {
            let said = self.job.fault_diagnostic(self.slot, word.clone(), fault, row);
            self.damage.first_row = Some(Diagnostic { message: format!("skipped a row: {}", said.message), ..said });
        }
        try_push(&mut self.damage.rows, (number, row), "rows")?;
        self.open(number, row, word.start)?;
        self.parsed.rows.truncate(self.row_start);
        for property in &self.job.targets[number].element.properties {
            let bytes = property.count.unwrap_or(property.item).bytes();
            self.parsed.rows.try_reserve(bytes).map_err(|_| Error::memory("a row"))?;
            self.parsed.rows.resize(self.parsed.rows.len() + bytes, 0);
        }
        self.serial.progress = PlyWordsProgress::default();
        self.begun.get_or_insert(word);
        self.end_row(number)
    }

    fn drop_extra(&mut self, extra: &[Range<usize>]) {
        self.damage.extra += extra.len() as u64;
        let Some(word) = extra.first().filter(|_| self.damage.first_extra.is_none()) else { return };
        let (place, excerpt) = self.job.placed(self.slot, word.clone());
        let message = "the line has more values than the header declares: the extra values were dropped";
        self.damage.first_extra = Some(Diagnostic { place, excerpt: Some(excerpt), ..Diagnostic::new(message) });
    }

    /// Returns whether words form exactly one row: the current one or the next.
    fn is_row(&mut self, line: &[Range<usize>]) -> Result<bool> {
        let row = self.serial.row;
        Ok(self.ends_row(row, PlyWordsProgress::default(), line)?
            || self.ends_row(row + 1, PlyWordsProgress::default(), line)?)
    }

    /// Returns whether words exactly complete the incomplete row.
    fn completes(&mut self, line: &[Range<usize>]) -> Result<bool> {
        self.ends_row(self.serial.row, self.serial.progress, line)
    }

    fn ends_row(&mut self, row: u64, mut progress: PlyWordsProgress, line: &[Range<usize>]) -> Result<bool> {
        let Some((number, ..)) = self.job.order.find(row) else { return Ok(false) };
        let element = self.job.targets[number].element;
        for (at, word) in line.iter().enumerate() {
            self.scratch.clear();
            match progress.feed(element, &self.slot.text.padded()[word.clone()], &mut self.scratch)? {
                Ok(Fed::Part) => {}
                Ok(Fed::Last) => return Ok(at + 1 == line.len()),
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Returns whether words form complete rows.
    fn are_rows(&mut self, words: &[Range<usize>]) -> Result<bool> {
        let mut row = self.serial.row;
        let mut progress = PlyWordsProgress::default();
        for word in words {
            let Some((number, ..)) = self.job.order.find(row) else { return Ok(false) };
            let element = self.job.targets[number].element;
            self.scratch.clear();
            match progress.feed(element, &self.slot.text.padded()[word.clone()], &mut self.scratch)? {
                Ok(Fed::Part) => {}
                Ok(Fed::Last) => row += 1,
                Err(_) => return Ok(false),
            }
        }
        Ok(progress.is_fresh())
    }
}
