//! A drive, a place and workloads for the tests of this crate.

use crate::spec::{
    Capacity, DriveSpec, EnclosureSpec, GovernorSpec, PowerSpec, SensorSpec, ServiceSpec,
    ThermalSpec,
};
use crate::workload::{Pattern, Workload};

pub fn drive() -> DriveSpec {
    DriveSpec {
        capacity: Capacity {
            user_bytes: 512_110_190_592,
            raw_bytes: 549_755_813_888,
            purge_s: 10.0,
            idle_collection_mb_s: 20.0,
        },
        service: ServiceSpec {
            seq_read_mb_s: 2500.0,
            seq_write_mb_s: 1500.0,
            rand_read_iops: 300e3,
            rand_write_iops: 110e3,
            steady_write_iops: 6e3,
            read_latency_us: 85.0,
            write_latency_us: 23.0,
        },
        power: PowerSpec {
            idle_w: 0.07,
            seq_read_w: 7.0,
            seq_write_w: 7.0,
            rand_read_w: 5.7,
            rand_write_w: 5.7,
            steady_write_w: 4.4,
        },
        thermal: ThermalSpec {
            controller_share: 0.8,
            controller_k_per_w: 3.5,
            controller_time_constant_s: 3.0,
        },
        governor: GovernorSpec {
            limit_c: 80.0,
            floor: 0.05,
            on: true,
        },
        sensor: SensorSpec {
            controller_share: 0.5,
            lag_s: 5.0,
        },
    }
}

pub fn place() -> EnclosureSpec {
    EnclosureSpec {
        air_c: 30.0,
        board_k_per_w: 10.0,
        board_time_constant_s: 80.0,
        sensor_air_share: 0.0,
        link_mb_s: None,
        host_read_iops: None,
        host_write_iops: None,
    }
}

pub fn sequential(rw: Pattern) -> Workload {
    Workload {
        rw,
        rwmixread: None,
        bs: 131_072,
        iodepth: 32,
        numjobs: 1,
        span_bytes: drive().capacity.user_bytes,
        offset_bytes: 0,
        io_bytes: None,
        runtime_s: None,
        rate: None,
        rate_iops: None,
    }
}

pub fn random_writes() -> Workload {
    Workload {
        bs: 4096,
        ..sequential(Pattern::RandWrite)
    }
}
