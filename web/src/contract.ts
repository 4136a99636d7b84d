// Made by `npm run contract` from heatsoak.report.page.contract: do not edit.

export interface Contract {
  Page: Page;
  Appended: Appended;
}
/**
 * Everything on the page.
 *
 * Attributes:
 *     is_live: whether a recording is still going on, so that the page asks for more.
 *     data: base64 of gzip of all packed columns.
 */
export interface Page {
  version?: 1;
  title: string;
  made_by: string;
  made_unix_s: number;
  is_live?: boolean;
  headline: Headline;
  recordings: PageRecording[];
  workloads: WorkloadSection[];
  matrix: MatrixSection | null;
  bars: BarChart[];
  curves: CurveChart[];
  comparisons: Comparison[];
  notes: string[];
  data: string;
}
/**
 * The answer before one scrolls.
 *
 * Attributes:
 *     text: the verdict in a sentence.
 *     tone: ``good`` where all is steady, ``bad`` where something throttles, else ``unsure``.
 *     more: a few sentences that go on from there.
 *     counts: how many steps have which verdict.
 */
export interface Headline {
  text: string;
  tone: "good" | "bad" | "unsure";
  more: string[];
  counts: {
    [k: string]: number;
  };
}
/**
 * A recording, and what another person needs to make it again.
 *
 * Attributes:
 *     label: the conditions, or the name of its directory.
 *     color: a number: recordings of the same colour are of the same conditions.
 *     command: the command that makes such a recording; None where that is not known.
 *     protocol: as TOML.
 *     commands: the load generator's command lines.
 */
export interface PageRecording {
  label: string;
  color: number;
  status: "running" | "finished" | "interrupted" | "failed";
  reason: string | null;
  started_unix_s: number | null;
  duration_s: number | null;
  findings: RecordingFindings;
  sentences: string[];
  drive: Fact[];
  host: Fact[];
  tools: Fact[];
  sensors: Fact[];
  events: EventLine[];
  command: string | null;
  protocol: string;
  commands: string[];
}
/**
 * What one recording shows; `notes` are warnings a reader of the result must know.
 *
 * Attributes:
 *     scores: those that its protocol defines.
 *     rounds: the rounds that its protocol has, and whether they became steady.
 *     power: where power comes from; None where nothing is known of it.
 */
export interface RecordingFindings {
  path: string;
  drive: {
    [k: string]: unknown;
  };
  conditions: {
    [k: string]: unknown;
  };
  steps: StepFindings[];
  sensors: SensorTrust[];
  notes: string[];
  scores?: ScoreFindings[];
  rounds?: RoundsFindings[];
  power?: Power | null;
}
/**
 * What one judged step shows.
 *
 * Attributes:
 *     mean_mb_s: reads and writes together over the whole step.
 *     cpu_us_per_io: what the load generator's processors spent on each I/O; None where that was
 *         not measured, as for a simulated drive.
 *     cpu_core_pct: the same as a share of one core, which several may exceed.
 *     power_mean_w: over the whole step, and `energy_j` what that comes to; None where no power
 *         was recorded for nine tenths of it. `RecordingFindings.power` tells who says so.
 *     rounds: the name of the rounds that it belongs to, and in which it was taken.
 *     start_temp_c: the drive's temperature when it began.
 *     why: what a verdict without an episode rests on.
 *     why_unknown: why its throughput could not be judged; None where it was.
 */
export interface StepFindings {
  step: string;
  workload: string;
  duration_s: number;
  mean_mb_s: number | null;
  start_temp_c: number | null;
  verdict:
    | ("thermal" | "spare-area" | "write-cache" | "limited-by-host" | "interference" | "sliding")
    | ("steady" | "unknown");
  episodes: Episode[];
  consistency: Consistency | null;
  why?: string[];
  why_unknown?: string | null;
  cpu_us_per_io?: number | null;
  cpu_core_pct?: number | null;
  power_mean_w?: number | null;
  energy_j?: number | null;
  rounds?: string | null;
  round?: number | null;
}
/**
 * One stretch of lowered throughput.
 *
 * Attributes:
 *     onset_s: when throughput leaves its level, 2 % of it being lost, from the step's start.
 *     end_s: when it is back, or the step's end.
 *     before_mb_s: mean from the step's start, or the last recovery, to the onset.
 *     during_mb_s: mean of the episode's last 60 s, or of all of it where it is shorter.
 *     before_iops: likewise, where no bytes were logged.
 *     before_lat_us: likewise, where only latencies were.
 *     direction: which of reads and writes it is of, where the step's sum does not show it.
 *     depth_pct: 1 - during / before, in percent; of latencies by what they let through.
 *     confidence: how likely the named cause is right, 0 to 1; 0 where none is named.
 *     evidence: sentences for and against the cause; of an unknown one, for the likeliest two, and
 *         what would tell them apart.
 *     likelihoods: the share of each cause, and of one that the judge does not know.
 *     shape: ``step``, ``slide`` or ``cycle``.
 *     fall_s: from the onset to where 90 % of the loss is reached.
 *     duty: the share of a cycle that is low.
 *     oscillates: whether it is a cycle of falling and recovering; `period_s` is its length.
 *     recovered: whether throughput came back before the step's end.
 */
export interface Episode {
  onset_s: number;
  end_s: number;
  before_mb_s?: number | null;
  during_mb_s?: number | null;
  before_iops?: number | null;
  during_iops?: number | null;
  before_lat_us?: number | null;
  during_lat_us?: number | null;
  direction?: ("read" | "write") | null;
  depth_pct: number;
  cause:
    | ("thermal" | "spare-area" | "write-cache" | "limited-by-host" | "interference" | "sliding")
    | ("steady" | "unknown");
  confidence: number;
  evidence: string[];
  likelihoods?: {
    [k: string]: number;
  };
  shape?: "step" | "slide" | "cycle";
  fall_s?: number;
  duty?: number | null;
  oscillates: boolean;
  period_s: number | null;
  recovered: boolean;
  written_gb_at_onset: number | null;
  temp_c_at_onset: number | null;
}
/**
 * IOPS of each second over the last `window_s`; the ratio is mean over standard deviation.
 *
 * Attributes:
 *     each_s: 1, or the interval of a log that has nothing shorter.
 *     derived_from_bytes: whether IOPS are bytes over the block size, since only those were
 *         logged.
 *     levels: the rates it keeps to, rising; one where it only scatters.
 *     changes: how often it went from one level to another.
 *     as_at_end_since_s: since when, in the whole step, mean and deviation have been those of its
 *         end; None where it is too short to tell.
 *     steady_state: over the whole step; None where it is shorter than five rounds.
 */
export interface Consistency {
  window_s: number;
  mean_iops: number;
  stdev_iops: number;
  ratio: number | null;
  each_s?: number;
  derived_from_bytes?: boolean;
  percentiles?: IopsPercentiles | null;
  levels?: RateLevel[];
  changes?: number;
  as_at_end_since_s?: number | null;
  steady_state?: SteadyState | null;
  read_latency?: LatencySummary | null;
  write_latency?: LatencySummary | null;
}
/**
 * Percentiles of the rates of single seconds.
 */
export interface IopsPercentiles {
  min: number;
  p1: number;
  p5: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}
/**
 * A rate that is kept to: the part of the time spent there, and how long each stay usually is.
 *
 * Attributes:
 *     iops: the median of the seconds at this level.
 *     share: 0 to 1.
 *     dwell_s: the median length of a stay.
 */
export interface RateLevel {
  iops: number;
  share: number;
  dwell_s: number;
}
/**
 * Whether five rounds in a row are steady, as SNIA's performance test specification asks.
 *
 * Attributes:
 *     reached: whether any five were.
 *     since_s: when the first such window begins.
 *     at_end: whether the last five were.
 *     round_s: the length of a round, whose mean is tracked.
 *     mean_iops: the average of the window told: the first that passes, or the last of all.
 *     range_pct: by how much its rounds differ, of that average; at most 20.
 *     slope_pct: by how much the line through them rises or falls, likewise; at most 10.
 */
export interface SteadyState {
  reached: boolean;
  since_s: number | null;
  at_end: boolean;
  round_s: number;
  mean_iops: number;
  range_pct: number;
  slope_pct: number;
}
/**
 * Latencies of a window, of which only `max_us` is the window's own.
 *
 * The percentiles were taken interval by interval: of those the median, and the largest.
 */
export interface LatencySummary {
  p50_median_us: number | null;
  p99_median_us: number | null;
  p99_largest_us: number | null;
  p999_median_us: number | null;
  p999_largest_us: number | null;
  max_us: number | null;
}
/**
 * Whether a temperature can be trusted to explain throttling, and why.
 *
 * Attributes:
 *     lag_s: how much later than the load it moves, where that can be seen.
 *     step_c: the step that it is rounded to; None where it is not.
 *     renewed_s: the shortest time in which it usually changes.
 *     onsets: how many onsets of throttling it was held against.
 *     spread_at_onset_k: how far its readings at those lie apart between conditions.
 *     same_as: another sensor from which it never differs.
 */
export interface SensorTrust {
  name: string;
  trust: "good" | "poor" | "unknown";
  why: string;
  lag_s?: number | null;
  step_c?: number | null;
  renewed_s?: number | null;
  onsets?: number;
  spread_at_onset_k?: number | null;
  same_as?: string | null;
}
/**
 * A number that a protocol is run for.
 *
 * Attributes:
 *     value: in `unit`; None where `why` says why there is none.
 *     better: which way is better.
 *     definition: how it is worked out, in a sentence.
 *     of_steps: what each step gives; the score is their mean. Of rounds, the last five.
 *     window_s: how much of each step's end counts; None is all of it.
 *     while_busy: whether time without any I/O in flight is left out.
 *     power_w: of a rate, the mean power over the same time; None where none was logged.
 *     mb_s_per_w: of a rate, what was moved for each watt: the same as megabytes a joule.
 *     cpu_us_per_io: what the load generator's processors spent on each I/O of those steps.
 *     cpu_core_pct: the same as a share of one core.
 *     scale: what share of the protocol's sizes and times was run; below 1 it is no result of it.
 */
export interface ScoreFindings {
  name: string;
  metric: string;
  statistic: string;
  value: number | null;
  unit: string;
  better: "higher" | "lower";
  definition: string;
  steps: string[];
  of_steps?: {
    [k: string]: number;
  };
  window_s?: number | null;
  while_busy?: boolean;
  why?: string | null;
  power_w?: number | null;
  mb_s_per_w?: number | null;
  cpu_us_per_io?: number | null;
  cpu_core_pct?: number | null;
  scale?: number;
}
/**
 * Whether rounds became steady, as SNIA's performance test specification asks.
 *
 * Attributes:
 *     taken: whole rounds.
 *     tracked: the step whose mean IOPS have to be steady; None for rounds that only repeat.
 *     iops: those means, round by round; null where nothing was measured.
 *     is_steady: whether the last five are; None where nothing is tracked.
 *     range_pct: by how much the last five differ, of their average; at most 20.
 *     slope_pct: by how much the line through them rises or falls, likewise; at most 10.
 *     steps: of one round, with means over the last five.
 *     text: the same in a sentence.
 */
export interface RoundsFindings {
  name: string;
  taken: number;
  tracked: string | null;
  iops: (number | null)[];
  is_steady: boolean | null;
  range_pct: number | null;
  slope_pct: number | null;
  steps: RoundStep[];
  text: string;
}
/**
 * A step's means over the last rounds, five at most.
 */
export interface RoundStep {
  step: string;
  workload: string;
  mean_iops: number | null;
  mean_mb_s: number | null;
}
/**
 * Where power comes from; a rating is what the drive states, and no measurement.
 *
 * Attributes:
 *     source: None where no power was recorded.
 *     text: who told it and how, in words.
 *     rated_max_w: the most that the drive states for the power states it was seen in, of all
 *         its states where that was not asked; None where it states none.
 *     rated_states: those states' numbers.
 */
export interface Power {
  source?: ("measured" | "reported" | "modelled" | "logged") | null;
  text?: string;
  rated_max_w?: number | null;
  rated_states?: number[];
}
/**
 * A line of a list: what, and what it is.
 */
export interface Fact {
  name: string;
  text: string;
}
/**
 * Something that happened, at a time from the recording's start.
 */
export interface EventLine {
  t_s: number;
  kind: string;
  text: string;
}
/**
 * All runs of one workload: a chart.
 *
 * Attributes:
 *     id: unique on the page, letters, digits, ``-`` and ``_``; an address within it.
 *     title: ``Sequential write``; `detail` says ``128k, QD32, 5 min``.
 *     summary: what the lines show, in a sentence.
 */
export interface WorkloadSection {
  id: string;
  title: string;
  detail: string;
  step: string;
  protocol: string;
  summary: string;
  lines: Line[];
}
/**
 * One recording's run of a workload.
 *
 * Attributes:
 *     recording: its number in `Page.recordings`.
 *     step: the number of the step in that recording's findings.
 *     label: what tells it from the other lines: its conditions that differ among them.
 *     start_s: when the step began, from the recording's start.
 *     tracks: throughput first, then what else there is.
 *     seconds: IOPS of each second, for the scatter; None where they are not known.
 *     level_mb_s: the level before the first episode, or the mean where there is none.
 */
export interface Line {
  recording: number;
  step: number;
  label: string;
  start_s: number;
  tracks: ChartSeries[];
  seconds: ChartSeries | null;
  latency: LatencyHistogram[];
  level_mb_s: number | null;
}
/**
 * One quantity over time.
 *
 * Attributes:
 *     name: the column of the recording; ``bw_mb_s`` and ``iops`` are reads and writes together.
 *     label: for a legend: ``reads``, ``composite``.
 *     t: seconds from the step's start, rising.
 *     v: values in `unit`; there are none where nothing was measured.
 *     samples: how many the recording has; more than ``t.count`` where the track was thinned: of
 *         each stretch then its least and greatest are kept, in their order of time.
 *     gap_s: neighbours further apart than this are not joined by a line.
 */
export interface ChartSeries {
  name: string;
  label: string;
  quantity: "throughput" | "iops" | "latency" | "temperature" | "power" | "busy" | "level";
  unit: string;
  t: Packed;
  v: Packed;
  samples: number;
  gap_s: number;
}
/**
 * A column of numbers in `Page.data`, once that is taken out of base64 and gzip.
 *
 * Value `i` is the sum of the first `i + 1` differences, divided by `per_unit`. The differences
 * are whole numbers, zigzag-coded (0, -1, 1, -2 as 0, 1, 2, 3), little-endian in `width` bytes,
 * and stored plane by plane: all lowest bytes first.
 *
 * Attributes:
 *     at: the first byte.
 *     count: how many values.
 *     width: bytes of a difference, 1 to 6; 0 where there are none.
 *     per_unit: by what the whole numbers are divided: a power of ten.
 */
export interface Packed {
  at: number;
  count: number;
  width: number;
  per_unit: number;
}
/**
 * How many I/Os of a step took how long.
 *
 * Attributes:
 *     upper_us: the upper end of each bin, rising; its lower end is the one before, or 0.
 *     ios: I/Os in it.
 *     from_percentiles: whether this was not counted, but made of intervals' percentiles.
 */
export interface LatencyHistogram {
  direction: "read" | "write";
  upper_us: number[];
  ios: number[];
  from_percentiles?: boolean;
}
/**
 * Cells by conditions: the values of `row_key` downwards, those of `column_keys` across.
 *
 * Attributes:
 *     order: the values of each key, in the order in which they are to stand.
 *     held: how many published figures hold, in a sentence; None where none is known.
 *     source: where the published figures are from.
 */
export interface MatrixSection {
  row_key: string;
  column_keys: string[];
  order: {
    [k: string]: string[];
  };
  metrics: MatrixMetric[];
  cells: MatrixCell[];
  held?: string | null;
  source?: string | null;
}
/**
 * What a matrix can show.
 *
 * Attributes:
 *     worse: which end of the scale is the one to worry about.
 *     workload: the workload that it is of; None where it is of several.
 */
export interface MatrixMetric {
  id: string;
  label: string;
  unit: string;
  worse: "low" | "high";
  workload?: string | null;
}
/**
 * One set of conditions.
 *
 * Attributes:
 *     recording: the first that was made in it.
 *     conditions: by the keys of the matrix.
 *     values: by the metric's id.
 */
export interface MatrixCell {
  recording: number;
  conditions: {
    [k: string]: string;
  };
  verdict: string;
  values: {
    [k: string]: MatrixFigure;
  };
}
/**
 * A number of a matrix, and what was published for it.
 *
 * Attributes:
 *     text: how it is said: ``steady`` where there is no number.
 *     published: least and most.
 *     holds: whether it is within that and its tolerance.
 */
export interface MatrixFigure {
  value: number | null;
  text: string;
  published?: [number, number] | null;
  published_text?: string | null;
  holds?: boolean | null;
}
/**
 * A score, one bar a condition.
 *
 * Attributes:
 *     interval: what the whiskers are, in a sentence.
 */
export interface BarChart {
  id: string;
  title: string;
  unit: string;
  better: "higher" | "lower";
  definition: string;
  interval: string;
  bars: Bar[];
}
/**
 * A value with its 95 % interval; low and high are None where it is not known.
 */
export interface Bar {
  label: string;
  recording: number;
  value: number;
  low: number | null;
  high: number | null;
  runs: number;
  power_w?: number | null;
  mb_s_per_w?: number | null;
}
/**
 * Steps that differ in one thing: the share of reads, or the queue depth.
 */
export interface CurveChart {
  id: string;
  title: string;
  x_label: string;
  x_is_log: boolean;
  unit: string;
  curves: Curve[];
}
/**
 * The points of one recording.
 */
export interface Curve {
  label: string;
  recording: number;
  points: CurvePoint[];
}
/**
 * A value of a step that differs from its neighbours in one thing.
 */
export interface CurvePoint {
  x: number;
  y: number;
  step: string;
  power_w?: number | null;
}
/**
 * What recordings show of a condition.
 *
 * Attributes:
 *     groups: the values of the condition, the baseline first.
 *     rows: for each step, metric and group; pooled rows before those of each condition. Those
 *         of scores come last.
 *     ranking: of the steps in which at least two groups can be ranked.
 *     notes: what was chosen, left out, or not paired, in sentences.
 *     caveats: how recordings that were compared anyway are unlike.
 */
export interface Comparison {
  by: string;
  baseline: string | number | boolean;
  groups: (string | number | boolean)[];
  drives: string[];
  protocols: string[];
  rows: ComparisonRow[];
  ranking: Ranked[];
  notes: string[];
  caveats: string[];
}
/**
 * One metric of one step in one group, against the baseline.
 *
 * Attributes:
 *     protocol: whose step it is.
 *     group: the group's value of the condition that is compared.
 *     value: the group's mean, in `unit`; None where it lies beyond what was measured.
 *     value_at_least: where a fall never came: the mean if each had come as the step ended.
 *     baseline: the baseline's mean over the same other conditions, likewise.
 *     delta_pct: 100 (value - baseline) / baseline; None where one is unknown or the baseline 0.
 *     ci95_pct: its 95 % interval; both None where there is none.
 *     delta: value - baseline, in `delta_unit`.
 *     ci95: its 95 % interval.
 *     interval_of: what the interval speaks of; None where there is none.
 *     runs: the group's recordings behind it.
 *     better: which way is better, if one is.
 *     better_by_pct: `delta_pct` with the sign that AnandTech prints: worse is negative, for MB/s
 *         and for us alike.
 *     definition: of a score, how it is worked out; None for a step.
 *     steps: of a score, the steps that it is made of.
 *     p: how likely a difference as large is without a true one, two-sided.
 *     p_holm: the same after Holm's correction for all groups of this metric and step.
 *     other_conditions: those that group and baseline share, where they all share one value.
 *     pairs: the sets of other conditions that it is a mean over.
 *     pairs_higher: in how many of them the group's value is the higher one.
 *     pooled: whether it is a mean over several of them; rows for each one follow.
 *     rank: the group's rank where its step is ranked by this metric; None elsewhere.
 *     best_share: as :attr:`Ranked.best_share`, likewise.
 *     caveats: what speaks against the comparison, where it was asked for anyway.
 */
export interface ComparisonRow {
  metric: string;
  step: string;
  group: string | number | boolean;
  baseline: number | null;
  value: number | null;
  delta_pct: number | null;
  /**
   * @minItems 2
   * @maxItems 2
   */
  ci95_pct: [number | null, number | null];
  runs: number;
  protocol: string;
  workload: string;
  title: string;
  unit: string;
  baseline_group: string | number | boolean;
  baseline_runs: number;
  value_at_least?: number | null;
  baseline_at_least?: number | null;
  delta: number | null;
  delta_unit: string;
  /**
   * @minItems 2
   * @maxItems 2
   */
  ci95: [number | null, number | null];
  interval_of: ("this run" | "runs" | "conditions") | null;
  better: ("higher" | "lower") | null;
  verdict:
    "better" | "worse" | "higher" | "lower" | "no difference shown" | "negligible" | "not tested";
  p: number | null;
  p_holm: number | null;
  other_conditions: {
    [k: string]: string | number | boolean | null;
  };
  pairs: number;
  pairs_higher: number;
  pooled: boolean;
  rank?: number | null;
  baseline_rank?: number | null;
  best_share?: number | null;
  baseline_best_share?: number | null;
  caveats?: string[];
  better_by_pct?: number | null;
  definition?: string | null;
  steps?: string[];
}
/**
 * A group's place in one step.
 *
 * Attributes:
 *     rank: one more than the groups that are shown to be better, so that groups share ranks.
 *     ranks: the least and the greatest rank that the data leave open.
 *     value: mean over the other conditions that all ranked groups have.
 *     ci95: its 95 % interval, in `unit`.
 *     best_share: the share of bootstrap draws in which it is the best, 0 to 1.
 *     not_told_apart_from: groups whose difference from it is not shown.
 */
export interface Ranked {
  protocol: string;
  step: string;
  metric: string;
  unit: string;
  group: string | number | boolean;
  rank: number;
  /**
   * @minItems 2
   * @maxItems 2
   */
  ranks: [number, number];
  value: number | null;
  value_at_least?: number | null;
  /**
   * @minItems 2
   * @maxItems 2
   */
  ci95: [number | null, number | null];
  best_share: number | null;
  not_told_apart_from: (string | number | boolean)[];
  pairs: number;
}
/**
 * New samples of one track of a running recording, as plain numbers (server-sent event).
 */
export interface Appended {
  workload: string;
  recording: number;
  track: string;
  t: number[];
  v: number[];
}
