//! The driver `ec2`: machines of Amazon EC2 and volumes of EBS, by the user's own `aws` program. docs/drivers.md describes it.

mod account;
mod address;
mod aws;
mod create;
mod destroy;
mod driver;
mod ebs;
mod error;
mod firewall;
mod found;
mod image;
mod instance_type;
mod launch;
mod pace;
mod price;
mod reading;
mod settings;
mod status;
mod survey;
mod tags;
mod user_data;
mod wait;

pub use driver::Ec2;
pub use pace::Pace;
