//! The rules that every `.proto` file of the package keeps, read from the compiled descriptors. What the messages mean is
//! tested where they are parsed.

use prost::Message as _;
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

fn own_files() -> Vec<FileDescriptorProto> {
    let set = FileDescriptorSet::decode(deed_proto::FILE_DESCRIPTOR_SET).expect("descriptors decode");
    let own: Vec<_> = set
        .file
        .into_iter()
        .filter(|file| file.package() == "deed.v1")
        .collect();
    assert_eq!(own.len(), 7);
    own
}

fn messages(file: &FileDescriptorProto) -> Vec<&DescriptorProto> {
    let mut found: Vec<&DescriptorProto> = file.message_type.iter().collect();
    let mut next = 0;
    while next < found.len() {
        found.extend(&found[next].nested_type);
        next += 1;
    }
    found
}

/// Whether a path of a source location names a message, field, enum, value, service or call, and not a part of one.
fn declaration(path: &[i32]) -> bool {
    matches!(path, [4 | 5 | 6, _, rest @ ..] if rest.len().is_multiple_of(2) && rest.chunks(2).all(|step| matches!(step[0], 2 | 3 | 4 | 8)))
}

#[test]
fn every_declaration_is_commented() {
    let mut seen = 0;
    for file in own_files() {
        for location in &file
            .source_code_info
            .as_ref()
            .expect("comments are kept")
            .location
        {
            if declaration(&location.path) {
                seen += 1;
                let line = location.span[0] + 1;
                assert!(
                    !location.leading_comments().trim().is_empty(),
                    "{}:{line} has no comment",
                    file.name()
                );
            }
        }
    }
    assert!(seen > 500, "only {seen} declarations were looked at");
}

#[test]
fn a_message_has_one_encoding_since_there_are_no_maps() {
    for file in own_files() {
        for message in messages(&file) {
            let map = message
                .options
                .as_ref()
                .is_some_and(|options| options.map_entry());
            assert!(!map, "{} is a map", message.name());
        }
    }
}

#[test]
fn zero_of_every_enum_is_unspecified() {
    for file in own_files() {
        for found in &file.enum_type {
            assert!(
                found.value[0].name().ends_with("_UNSPECIFIED"),
                "{} begins otherwise",
                found.name()
            );
        }
        assert!(
            messages(&file).iter().all(|message| message.enum_type.is_empty()),
            "enums stand at the top"
        );
    }
}

#[test]
fn tokens_and_versions_are_64_bit_so_that_json_carries_them_as_text() {
    for file in own_files() {
        for message in messages(&file) {
            for field in &message.field {
                let numbered = field.name().ends_with("fencing_token") || field.name().ends_with("version");
                if numbered && field.r#type() != Type::Message {
                    assert_eq!(
                        field.r#type(),
                        Type::Uint64,
                        "{}.{}",
                        message.name(),
                        field.name()
                    );
                }
            }
        }
    }
}
