//! Tidy tables as Parquet files, compressed by zstd.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use report::tidy::{Column, Field, Kind, Row};
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group: some megabytes of memory, and few enough groups for readers to be fast.
const ROWS_OF_A_GROUP: usize = 50_000;

/// Writes the rows of one table.
pub(crate) struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl<W: Write + Send> Parquet<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The file can't be written.
    pub(crate) fn new(file: W, columns: Vec<Column>) -> Result<Self> {
        let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>>>()?;
        let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Self { writer, columns, rows: Vec::new() })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// The file can't be written.
    pub(crate) fn add(&mut self, rows: Vec<Row>) -> Result<()> {
        self.rows.extend(rows);
        if self.rows.len() < ROWS_OF_A_GROUP { Ok(()) } else { self.write_group() }
    }

    /// Ends the file and returns what it was written to.
    ///
    /// # Errors
    /// The file can't be written.
    pub(crate) fn finish(mut self) -> Result<W> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        self.writer.into_inner()
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for (at, column) in self.columns.iter().enumerate() {
            let fields = self.rows.iter().filter_map(|row| row.get(at));
            match column.kind {
                Kind::Text => {
                    let text = |field: &Field| match field {
                        Field::Text(text) => Some(ByteArray::from(text.as_str())),
                        _ => None,
                    };
                    write::<ByteArrayType>(&mut group, fields.filter_map(text).collect())?;
                }
                Kind::Integer => {
                    let number = |field: &Field| match field {
                        Field::Integer(number) => i64::try_from(*number).ok(),
                        _ => None,
                    };
                    write::<Int64Type>(&mut group, fields.filter_map(number).collect())?;
                }
                Kind::Flag => {
                    let flag = |field: &Field| match field {
                        Field::Flag(is) => Some(*is),
                        _ => None,
                    };
                    write::<BoolType>(&mut group, fields.filter_map(flag).collect())?;
                }
                Kind::Number => {
                    let numbers: Vec<Option<f64>> = fields
                        .map(|field| match field {
                            Field::Number(number) => *number,
                            _ => None,
                        })
                        .collect();
                    let is_there: Vec<i16> = numbers.iter().map(|number| number.is_some().into()).collect();
                    let there: Vec<f64> = numbers.into_iter().flatten().collect();
                    write_levels::<DoubleType>(&mut group, &there, Some(&is_there))?;
                }
            }
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

fn field(column: &Column) -> Result<TypePtr> {
    let (physical, logical, repetition) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        Kind::Integer => (Physical::INT64, None, Repetition::REQUIRED),
        Kind::Flag => (Physical::BOOLEAN, None, Repetition::REQUIRED),
        Kind::Number => (Physical::DOUBLE, None, Repetition::OPTIONAL),
    };
    let primitive = Type::primitive_type_builder(&column.name, physical);
    Ok(Arc::new(primitive.with_logical_type(logical).with_repetition(repetition).build()?))
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: Vec<T::T>,
) -> Result<()> {
    write_levels::<T>(group, &values, None)
}

fn write_levels<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
    is_there: Option<&[i16]>,
) -> Result<()> {
    let next = group.next_column()?;
    let mut column =
        next.ok_or_else(|| ParquetError::General("the schema has too few columns".to_owned()))?;
    column.typed::<T>().write_batch(values, is_there, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::{Parquet, ROWS_OF_A_GROUP};
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use report::tidy::{Column, Field, Kind};
    use std::fs::File;

    #[test]
    fn rows_are_read_back_as_they_were_written_over_several_groups() {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let columns = vec![
            column("stack", Kind::Text),
            column("round", Kind::Integer),
            column("failed", Kind::Flag),
            column("value", Kind::Number),
        ];
        let row = |round: u64| {
            let value = (!round.is_multiple_of(3)).then_some(0.5);
            vec![
                Field::Text(format!("ext4 {}", round % 7)),
                Field::Integer(round),
                Field::Flag(round.is_multiple_of(2)),
                Field::Number(value),
            ]
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows.parquet");
        let mut parquet = Parquet::new(File::create(&path).unwrap(), columns).unwrap();
        let count = ROWS_OF_A_GROUP as u64 + 11;
        (0..count).for_each(|round| parquet.add(vec![row(round)]).unwrap());
        parquet.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows.len() as u64, count);
        assert_eq!(rows[0], "{stack: \"ext4 0\", round: 0, failed: true, value: null}");
        assert_eq!(rows[1], "{stack: \"ext4 1\", round: 1, failed: false, value: 0.5}");
        assert!(rows[rows.len() - 1].contains(&format!("round: {}", count - 1)));
    }
}
