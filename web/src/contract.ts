// Made by `npm run contract` from heatsoak.report.page.contract: do not edit.

export interface Contract {
  Page: Page;
  Appended: Appended;
}
/**
 * Everything on the page.
 *
 * Attributes:
 *     is_live: whether a recording is still running, so that the page asks for updates.
 *     sensor: whose temperature the rows of workloads have; None if that differs.
 *     overview: the whole of the recording that the headline is about; None if that is one load.
 *     data: all packed columns, gzipped, in base64.
 */
export interface Page {
  version: 1;
  title: string;
  made_by: string;
  made_unix_s: number;
  is_live: boolean;
  headline: Headline;
  recordings: PageRecording[];
  sensor: string | null;
  overview: WorkloadSection | null;
  workloads: WorkloadSection[];
  matrix: MatrixSection | null;
  bars: BarChart[];
  curves: CurveChart[];
  comparisons: ComparisonSection[];
  twin: TwinSection | null;
  sweep: SweepSection | null;
  rack: RackSection | null;
  notes: string[];
  data: string;
}
/**
 * The answer at the top of the page.
 *
 * Attributes:
 *     text: the verdict in a sentence.
 *     tone: ``good`` if the drive does not throttle or is better, ``bad`` if it does or is worse.
 *     figures: the loss, when it began, how hot the drive was, with what each is, if known.
 *     of: which of several recordings the figures are of: the worst.
 *     more: a few more sentences.
 *     next: what to do then; if there is a command for it, how.
 */
export interface Headline {
  text: string;
  tone: "good" | "bad" | "unsure";
  figures: NamedValue[];
  of: string;
  more: string[];
  next: string | null;
  command: string | null;
}
/**
 * An entry of a list: a name and its value.
 */
export interface NamedValue {
  name: string;
  text: string;
}
/**
 * A recording, and how to repeat it.
 *
 * Attributes:
 *     label: the conditions, or the name of its directory.
 *     limit: where the drive begins to slow itself down, in C, and whose figure that is.
 *     command: the command that makes such a recording; None if unknown.
 *     bundle: the command that makes one small file of it, for others.
 *     protocol: as TOML.
 *     commands: the load generator's command lines.
 */
export interface PageRecording {
  label: string;
  style: LineStyle;
  status: "running" | "finished" | "interrupted" | "failed";
  reason: string | null;
  started_unix_s: number | null;
  duration_s: number | null;
  findings: RecordingFindings;
  sentences: string[];
  drive: NamedValue[];
  host: NamedValue[];
  tools: NamedValue[];
  sensors: NamedValue[];
  events: EventLine[];
  limit: [number, string] | null;
  command: string | null;
  bundle: string;
  protocol: string;
  commands: string[];
}
/**
 * How a recording's lines look: the numbers of a colour and of a pattern in the palette.
 */
export interface LineStyle {
  color: number;
  dash: number;
}
/**
 * What one recording shows; `notes` are what a reader of the result must know.
 *
 * Attributes:
 *     answer: whether the drive throttles, in a sentence.
 *     claims: what is said of the drive beside its steps.
 *     counted: what the drive counted itself; None for what was no log of it.
 *     unloaded: what is known of the time without a load; None if there was hardly any.
 *     scores: the scores that its protocol defines.
 *     rounds: the rounds in its protocol, and whether they became steady.
 *     power: where power figures come from; None if nothing is known.
 *     no_temp: what would bring a temperature of the drive, where a load ran and none was read; it
 *         is among the notes.
 *     reservations: what was not read for certain; they are among the notes. One that touches
 *         the ``recording`` says what was changed after that was made: it then has no steps,
 *         unless it was opened as damaged.
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
  answer?: Answer;
  claims?: Claim[];
  counted?: OwnCount | null;
  unloaded?: Unloaded | null;
  scores?: ScoreFindings[];
  rounds?: RoundsFindings[];
  power?: Power | null;
  no_temp?: string | null;
  reservations?: Reservation[];
}
/**
 * What one judged step shows.
 *
 * Attributes:
 *     mean_mb_s: reads and writes together over the whole step.
 *     full_mb_s: the full speed of its load: the best level that the recording shows in the same
 *         state of the cache, or a reference; None if none was held, or no bytes were logged.
 *     cpu_us_per_io: CPU time that the load generator used for each I/O; None if not measured, as
 *         for a simulated drive.
 *     cpu_core_pct: the same as a share of one core; more than 100 if it used several.
 *     power_mean_w: over the whole step, with the energy in `energy_j`; None unless power was
 *         recorded for nine tenths of it. `RecordingFindings.power` says where it comes from.
 *     rounds: the name of the rounds that it belongs to; `round` is the number of its round.
 *     start_temp_c: the drive's temperature at the start; `max_temp_c` is its highest, both of the
 *         column `temp_sensor`.
 *     still_warming_k: how much it still warmed in the last third; None where that was next to
 *         nothing, or without a temperature.
 *     claims: what is said of it, the most important first.
 */
export interface StepFindings {
  step: string;
  workload: string;
  duration_s: number;
  mean_mb_s: number | null;
  full_mb_s?: Range | null;
  start_temp_c: number | null;
  max_temp_c?: number | null;
  temp_sensor?: string | null;
  still_warming_k?: number | null;
  verdict:
    | ("thermal" | "spare-area" | "write-cache" | "limited-by-host" | "interference" | "sliding")
    | ("steady" | "unknown");
  episodes: Episode[];
  consistency: Consistency | null;
  claims?: Claim[];
  cpu_us_per_io?: number | null;
  cpu_core_pct?: number | null;
  power_mean_w?: number | null;
  energy_j?: number | null;
  rounds?: string | null;
  round?: number | null;
}
/**
 * A number with the interval in which it lies with the probability `level`.
 *
 * Raises ValueError where `mid` is not between the ends.
 */
export interface Range {
  low: number;
  mid: number;
  high: number;
  of: "this run" | "runs" | "conditions" | "drives" | "fit";
  level?: number;
}
/**
 * One stretch of lowered throughput.
 *
 * Attributes:
 *     onset_s: when 2 % of the level is lost, from the step's start.
 *     end_s: when throughput begins to recover, or the step's end.
 *     before_mb_s: mean from the step's start, or the last recovery, to the onset; if it falls
 *         before that shows a level, the full speed, or where it is not known the first seconds.
 *     during_mb_s: mean from the onset to the end.
 *     lowest_mb_s: the lowest mean of any 5 s of it.
 *     before_iops: likewise, if no bytes were logged.
 *     before_lat_us: likewise, if only latencies were logged.
 *     direction: whether it is reads or writes that fell, if their sum does not show it.
 *     depth_pct: 1 - during / before, in percent; for latencies, of the rate that they permit.
 *     depth_at_end_pct: the same of its last 60 s, as in Puget's published figures.
 *     confidence: how likely the named cause is right, 0 to 1; 0 where none is named.
 *     evidence: sentences for and against the cause; if it is unknown, for the likeliest two, and
 *         what would tell them apart.
 *     likelihoods: the probability of each cause, and of any that the judge does not know.
 *     shape: ``step``, ``slide`` or ``cycle``.
 *     fall_s: from the onset to the time when 90 % of the loss is reached.
 *     duty: the low share of a period.
 *     oscillates: whether throughput falls and recovers regularly; `period_s` is the period.
 *     recovered: whether throughput recovered before the step's end.
 *     sensor_locked_up: whether a sensor jumped when it fell and has not moved since: the drive
 *         slows down for a heat that is not there.
 *     from_start: whether it fell before three samples had shown a level, so that its full speed
 *         may be higher.
 *     holds_up: which drives of one log waited for this one meanwhile; None if none did.
 *     hotter_sensor: another sensor of the drive that was as hot as drives throttle at, though
 *         `temp_c_at_onset` was not; `hotter_c_at_onset` is how hot.
 */
export interface Episode {
  onset_s: number;
  end_s: number;
  before_mb_s?: number | null;
  during_mb_s?: number | null;
  lowest_mb_s?: number | null;
  before_iops?: number | null;
  during_iops?: number | null;
  lowest_iops?: number | null;
  before_lat_us?: number | null;
  during_lat_us?: number | null;
  lowest_lat_us?: number | null;
  direction?: ("read" | "write") | null;
  depth_pct: number;
  depth_at_end_pct?: number;
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
  sensor_locked_up?: boolean;
  period_s: number | null;
  recovered: boolean;
  written_gb_at_onset: number | null;
  temp_c_at_onset: number | null;
  hotter_sensor?: string | null;
  hotter_c_at_onset?: number | null;
  from_start?: boolean;
  holds_up?: string | null;
}
/**
 * IOPS of each second over the last `window_s`; the ratio is mean to standard deviation.
 *
 * Attributes:
 *     each_s: 1, or the interval of a log with longer intervals.
 *     derived_from_bytes: whether IOPS were calculated from bytes and the block size, since only
 *         bytes were logged.
 *     levels: the rates that it stays at, ascending; a single one if it only scatters.
 *     changes: how often it changed from one level to another.
 *     as_at_end_since_s: since when, in the whole step, mean and deviation have been as at its
 *         end; None if it is too short to tell.
 *     steady_state: over the whole step; None if it is shorter than five rounds.
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
 * Percentiles of the rates of individual seconds.
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
 * A rate level: the share of the time spent there, and how long each stay usually is.
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
 * Whether five rounds in a row are steady, as SNIA's performance test specification defines it.
 *
 * Attributes:
 *     reached: whether any five were steady.
 *     since_s: when the first such window starts.
 *     at_end: whether the last five were steady.
 *     round_s: the length of a round, whose mean is tracked.
 *     mean_iops: the average of the first window that passes, or of the last window if none does.
 *     range_pct: the range of its rounds, in percent of that average; at most 20.
 *     slope_pct: how much the line through them rises or falls, likewise; at most 10.
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
 * Latencies of a window; only `max_us` is taken over the whole window.
 *
 * The percentiles were taken for each interval; these are their median and largest values.
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
 * One thing that is said of a drive, or of a step of its load, with what speaks for it.
 *
 * Attributes:
 *     step: the step that it is about; None if it is about the drive.
 *     heat: whether heat slows the drive, as far as this tells; None if it tells nothing of that.
 *     by: the cause of what was lost, named or probable; ``unknown`` where none is likely enough,
 *         ``steady`` where nothing was lost.
 *     share: how probable that cause is; None where none is named or nothing was weighed.
 *     shares: the probability of each cause; empty where there was nothing to weigh.
 *     loss_pct: how much of its full speed was lost; None if that is unknown.
 *     onset_s: when, from the step's start; None from the start on.
 *     temp_c: how hot the drive was then.
 *     text: the same in words.
 *     reasons: what speaks for it, the strongest first.
 *     settles: what would tell more.
 *     doubt: what it leaves open of its own time, in words.
 */
export interface Claim {
  what: "alarm" | "throttled" | "counted" | "over-limits" | "slow" | "hot" | "unseen" | "held";
  step?: string | null;
  heat?: ("yes" | "open" | "no") | null;
  by?:
    | ("thermal" | "spare-area" | "write-cache" | "limited-by-host" | "interference" | "sliding")
    | ("steady" | "unknown");
  share?: number | null;
  shares?: {
    [k: string]: number;
  };
  loss_pct?: number | null;
  onset_s?: number | null;
  temp_c?: number | null;
  text?: string;
  reasons?: string[];
  settles?: string | null;
  doubt?: string | null;
}
/**
 * Whether a temperature can be trusted to explain throttling, and why.
 *
 * Attributes:
 *     lag_s: how much later than the load it moves, if that is visible.
 *     step_c: the step that it is rounded to; None if it is not rounded.
 *     renewed_s: the shortest usual time between changes.
 *     onsets: how many onsets of throttling it was compared with.
 *     spread_at_onset_k: how far its readings at those onsets differ between conditions.
 *     same_as: another sensor that always reads the same.
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
 * What a person wanted to know.
 *
 * Attributes:
 *     sentence: for somebody who does not know what an episode is.
 *     because: the strongest reasons, three at most.
 *     next: what would tell, or help; it ends with a command to paste where there is one.
 *     command: that command alone.
 *     worst: what the worst of several recordings shows; `sentence` ends with it.
 *     alarm: what the drive itself warns of; `sentence` begins with it.
 */
export interface Answer {
  throttles: "yes" | "no" | "cannot-tell" | "not-loaded";
  sentence: string;
  because?: string[];
  next?: string | null;
  command?: string | null;
  worst?: string;
  alarm?: string | null;
}
/**
 * What a drive itself counts of its heat, and says of its health, by its last reading in a log.
 *
 * Attributes:
 *     totals: transitions, and seconds, since it was made, by the column of a recording.
 *     added: how much of that came between the first reading and the last.
 *     readings: how many readings of the counters there are.
 *     between_s: the time between the first and the last; None where nothing tells it.
 *     power_on_h: for how long it was ever switched on; None if not logged, as the others.
 *     critical_warning: the bits of NVMe's health log.
 *     failed: whether its own judgement of its health is FAILED.
 *     throttled_pct: by how much it throttled itself at the last reading.
 *     throttled_level: at which of its own levels it did.
 *     highest_c: its highest temperature so far.
 *     over_limit_count: how many of its own regular looks found it above its limit.
 *     counts: whether it counts at all: not without thermal management that the host controls.
 */
export interface OwnCount {
  totals: {
    [k: string]: number;
  };
  added: {
    [k: string]: number;
  };
  readings: number;
  between_s: number | null;
  power_on_h: number | null;
  critical_warning: number | null;
  failed: boolean | null;
  throttled_pct?: number | null;
  throttled_level?: number | null;
  highest_c?: number | null;
  over_limit_count?: number | null;
  counts?: boolean | null;
}
/**
 * The time in which a log shows the drive, but no load that could be judged.
 *
 * Attributes:
 *     busy_pct: the mean share of the time that it was busy; None if not logged.
 *     max_mb_s: the highest throughput; None if not logged.
 *     max_temp_c: its highest temperature, of the column `temp_sensor`; None if not logged.
 *     longest_burst_s: the longest spell of work, too short to be judged; None if there was none.
 *     bursts_gb: what was moved in all of them.
 *     excludes_heat: whether how hot it got and what it counted leave heat hardly a chance.
 *     follows: what its temperature followed: ``its own work``, or a sensor of the host.
 *     follows_column: the column of that sensor; None for its own work.
 *     time_constant_s: how slowly it followed.
 *     text: the same, to follow "the drive was never loaded"; `reasons` are sentences.
 */
export interface Unloaded {
  duration_s: number;
  busy_pct?: number | null;
  max_mb_s?: number | null;
  max_temp_c?: number | null;
  temp_sensor?: string | null;
  longest_burst_s?: number | null;
  bursts_gb?: number;
  excludes_heat?: boolean;
  follows?: string | null;
  follows_column?: string | null;
  time_constant_s?: number | null;
  text?: string;
  reasons?: string[];
}
/**
 * The number that a protocol is run for.
 *
 * Attributes:
 *     value: in `unit`; None if there is none, and `why` says why.
 *     range: where it lies, of a rate that is sought: from what was held to what was not.
 *     full_mb_s: of a rate that is sought, the full speed after a rest, and `full_s` how long that
 *         was held; None if to the end.
 *     better: which way is better.
 *     definition: how it is calculated, in a sentence.
 *     of_steps: the value of each step; the score is their mean. For rounds, the last five.
 *     window_s: how much of the end of each step counts; None means all of it.
 *     while_busy: whether time without I/O in flight is left out.
 *     power_w: for a rate, the mean power over the same time; None if not logged.
 *     mb_s_per_w: for a rate, throughput per watt: the same as megabytes per joule.
 *     cpu_us_per_io: CPU time that the load generator used for each I/O of those steps.
 *     cpu_core_pct: the same as a share of one core.
 *     scale: the share of the protocol's sizes and times that was run; below 1 the value is not a
 *         result of the protocol.
 */
export interface ScoreFindings {
  name: string;
  metric: string;
  statistic: string;
  value: number | null;
  range?: Range | null;
  full_mb_s?: number | null;
  full_s?: number | null;
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
 * Whether rounds became steady, as SNIA's performance test specification defines it.
 *
 * Attributes:
 *     taken: whole rounds.
 *     tracked: the step whose mean IOPS must be steady; None for rounds that only repeat.
 *     iops: those means, round by round; null where nothing was measured.
 *     is_steady: whether the last five are; None where nothing is tracked.
 *     range_pct: the range of the last five, in percent of their average; at most 20.
 *     slope_pct: how much the line through them rises or falls, likewise; at most 10.
 *     steps: the steps of one round, with means over the last five.
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
 * Where power figures come from; a rating is what the drive states, not a measurement.
 *
 * Attributes:
 *     source: None where no power was recorded.
 *     text: the source in words.
 *     rated_max_w: the highest power that the drive states for the power states it was seen in, or
 *         for all its states if those were not recorded; None if it states none.
 *     rated_states: the numbers of those states.
 */
export interface Power {
  source?: ("measured" | "reported" | "modelled" | "logged") | null;
  text?: string;
  rated_max_w?: number | null;
  rated_states?: number[];
}
/**
 * Something that was not read for certain from a log, or was changed since it was recorded.
 *
 * Attributes:
 *     touches: what it leaves open.
 *     settles: what a user can say against it.
 */
export interface Reservation {
  text: string;
  touches: ("rate" | "unit" | "identity" | "time" | "temperature" | "recording")[];
  settles?: string | null;
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
 * All runs of one workload: a row of the overview, and a chart behind it.
 *
 * Attributes:
 *     id: unique on the page; letters, digits, ``-`` and ``_``; used as a link target.
 *     title: ``Sequential write``; `detail` says ``128k, QD32, 5 min``.
 *     summary: what the lines show, in half a line: what the terminal says of a single step.
 *     verdicts: how many runs have each verdict.
 *     rate: the mean with its unit, the lowest and the highest of several runs; empty if unknown.
 *     hottest: the highest temperature of the drive, likewise.
 *     is_open: whether its chart is shown at once.
 *     last_s: the length of the separate chart of the end, for tests of consistency.
 *     shown: the quantities that are drawn at once, from the top; others when asked for.
 *     bands: the loads of a whole recording, if that is what is drawn.
 */
export interface WorkloadSection {
  id: string;
  title: string;
  detail: string;
  step: string;
  protocol: string;
  summary: string;
  verdicts: {
    [k: string]: number;
  };
  rate: string;
  hottest: string;
  is_open: boolean;
  last_s: number | null;
  shown: ("throughput" | "iops" | "latency" | "temperature" | "power" | "busy" | "level")[];
  lines: Line[];
  bands: StepBand[];
}
/**
 * One recording's run of a workload.
 *
 * Attributes:
 *     recording: its index in `Page.recordings`.
 *     step: the index of the step in that recording's findings; None if it was not loaded, so
 *         that there is no step.
 *     label: the conditions in which it differs from the other lines.
 *     tracks: what it is about first, then the others: throughput, or the temperature of a drive
 *         that was not loaded.
 *     seconds: IOPS of each second, for the scatter plot; None if unknown.
 *     level_mb_s: the level before the first episode, or the mean if there is none.
 */
export interface Line {
  recording: number;
  step: number | null;
  label: string;
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
 *     label: the name in a legend: ``reads``, ``composite``.
 *     t: seconds from the step's start, rising.
 *     v: values in `unit`; none if nothing was measured.
 *     samples: how many the recording has; more than ``t.count`` if the track was thinned: the
 *         minimum and maximum of each stretch are then kept, in time order.
 *     gap_s: points further apart than this are not joined by a line.
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
 * A column of numbers in `Page.data`, after base64 and gzip are decoded.
 *
 * Value `i` is the sum of the first `i + 1` differences, divided by `per_unit`. The differences
 * are whole numbers, zigzag-coded (0, -1, 1, -2 as 0, 1, 2, 3), little-endian in `width` bytes,
 * and stored plane by plane: all lowest bytes first.
 *
 * Attributes:
 *     at: the first byte.
 *     count: the number of values.
 *     width: bytes per difference, 1 to 6; 0 if there are none.
 *     per_unit: the divisor of the whole numbers, a power of ten.
 */
export interface Packed {
  at: number;
  count: number;
  width: number;
  per_unit: number;
}
/**
 * A histogram of the latencies of a step.
 *
 * Attributes:
 *     upper_us: the upper edge of each bin, rising; its lower edge is the one before, or 0.
 *     ios: the number of I/Os in each bin.
 *     from_percentiles: whether it was estimated from intervals' percentiles, not counted.
 */
export interface LatencyHistogram {
  direction: "read" | "write";
  upper_us: number[];
  ios: number[];
  from_percentiles: boolean;
}
/**
 * A load in the course of a whole recording, in s from its start.
 *
 * Attributes:
 *     step: its index in that recording's findings; None if it is not judged, or one of rounds.
 */
export interface StepBand {
  name: string;
  start_s: number;
  end_s: number;
  step: number | null;
}
/**
 * Cells by conditions: `row_key` down, `column_keys` across.
 *
 * Attributes:
 *     order: the values of each key, in display order.
 *     held: how many published figures hold, in a sentence; None if there are none.
 *     source: the source of the published figures.
 */
export interface MatrixSection {
  row_key: string;
  column_keys: string[];
  order: {
    [k: string]: string[];
  };
  metrics: MatrixMetric[];
  cells: MatrixCell[];
  held: string | null;
  source: string | null;
}
/**
 * A quantity that a matrix can show.
 *
 * Attributes:
 *     worse: which end of the scale is worse.
 *     workload: its workload; None if it covers several.
 *     rated_by: what the colours show instead of the values, in a sentence.
 */
export interface MatrixMetric {
  id: string;
  label: string;
  unit: string;
  worse: "low" | "high";
  workload: string | null;
  rated_by: string | null;
}
/**
 * One set of conditions.
 *
 * Attributes:
 *     recording: the first recording made in it.
 *     conditions: keyed by the keys of the matrix.
 *     values: keyed by the metric's id.
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
 * A value of a matrix, and the published figure for it.
 *
 * Attributes:
 *     text: the value as text; ``steady`` if there is no number.
 *     rated: what the cell is coloured by, on the scale of the metric; None: its value.
 *     published: the published range.
 *     holds: whether it is within that range and its tolerance.
 */
export interface MatrixFigure {
  value: number | null;
  text: string;
  rated: number | null;
  published: [number, number] | null;
  published_text: string | null;
  holds: boolean | null;
}
/**
 * A score, or the mean of a step, with one bar per condition.
 *
 * Attributes:
 *     is_score: whether the protocol is run for it.
 *     interval: what the whiskers show, in a sentence.
 */
export interface BarChart {
  id: string;
  title: string;
  unit: string;
  better: "higher" | "lower";
  definition: string;
  is_score: boolean;
  interval: string;
  bars: Bar[];
}
/**
 * A value, with its interval if that is known, and what a reader compares it with.
 */
export interface Bar {
  label: string;
  recording: number;
  value: number;
  range: Range | null;
  runs: number;
  power_w: number | null;
  mb_s_per_w: number | null;
  beside: string;
}
/**
 * Curves over steps that differ in one parameter: the share of reads, or the queue depth.
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
 * One step's value in a curve.
 */
export interface CurvePoint {
  x: number;
  y: number;
  step: string;
  power_w: number | null;
}
/**
 * A comparison; numbers of its rows say where people see them.
 *
 * Attributes:
 *     told: the rows as text.
 *     shown: in the tables.
 *     apart: in the tables of each set of other conditions; none if there is one set.
 *     drawn: in the chart.
 */
export interface ComparisonSection {
  by: string;
  baseline: string | number | boolean;
  groups: (string | number | boolean)[];
  drives: string[];
  protocols: string[];
  models?: string[];
  summary: ComparisonSummary;
  headlines?: ComparisonHeadline[];
  rows: ComparisonRow[];
  ranking: Ranked[];
  notes: string[];
  caveats: string[];
  told: ToldRow[];
  shown: number[];
  apart: number[];
  drawn: DrawnRow[];
}
/**
 * What a comparison shows overall: of two groups, the headline; of more, their range.
 *
 * Attributes:
 *     text: a sentence.
 *     tone: what is so of any group; ``mixed`` if something is better and something worse.
 */
export interface ComparisonSummary {
  text: string;
  tone: "better" | "worse" | "mixed" | "alike";
}
/**
 * What a group differs in from the baseline.
 *
 * Attributes:
 *     text: a sentence; `details` are more of them.
 *     tone: ``mixed`` if something is better and something worse.
 */
export interface ComparisonHeadline {
  group: string | number | boolean;
  text: string;
  details?: string[];
  tone: "better" | "worse" | "mixed" | "alike";
}
/**
 * One metric of one step in one group, compared with the baseline.
 *
 * Attributes:
 *     schema_version: goes up when a key of the JSON changes its meaning or goes away.
 *     protocol: the protocol of the step.
 *     model: the drive's model, if several are compared separately; empty otherwise.
 *     summary: what the comparison shows overall, in a sentence.
 *     headline: what its group differs in from the baseline, in a sentence or two.
 *     group: the group's value of the compared condition.
 *     value: the group's mean, in `unit`; None if it is beyond what was measured.
 *     value_at_least: if throughput never fell: the mean if each run had fallen at the step's end.
 *     baseline: the baseline's mean over the same other conditions, likewise.
 *     delta_pct: 100 (value - baseline) / baseline; None if one is unknown or the baseline is 0.
 *     ci95_pct: its 95 % confidence interval; both None if there is none.
 *     delta: value - baseline, in `delta_unit`.
 *     ci95: its 95 % interval.
 *     interval_of: what the interval covers; None if there is none.
 *     runs: the number of the group's recordings.
 *     better: which direction is better, if either is.
 *     why_neither: why neither direction is better here, although it is for this metric.
 *     better_by_pct: `delta_pct` with the sign that AnandTech prints: worse is negative, for MB/s
 *         and for us alike.
 *     definition: how a score is calculated; None for a step.
 *     steps: the steps of a score.
 *     p: the two-sided p value of the difference.
 *     p_adjusted: the same, corrected for all groups of this metric and step (Benjamini-Hochberg).
 *     other_conditions: those that have the same value in group and baseline.
 *     pairs: the number of sets of other conditions that it is a mean over.
 *     pairs_higher: in how many of them the group's value is higher.
 *     pooled: whether it is a mean over several sets; rows for each one follow.
 *     rank: the group's rank if its step is ranked by this metric, otherwise None.
 *     best_share: as :attr:`Ranked.best_share`, likewise.
 *     caveats: how recordings that were compared anyway differ.
 */
export interface ComparisonRow {
  schema_version?: 2;
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
  model?: string;
  summary?: string;
  headline?: string;
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
  interval_of: ("runs" | "conditions" | "drives") | null;
  better: ("higher" | "lower") | null;
  why_neither?: string | null;
  verdict:
    | "better"
    | "worse"
    | "higher"
    | "lower"
    | "no difference shown"
    | "negligible"
    | "one run"
    | "not tested";
  p: number | null;
  p_adjusted: number | null;
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
 * A group's rank in one step.
 *
 * Attributes:
 *     rank: one more than the number of groups that are shown to be better, so groups may share
 *         ranks.
 *     ranks: the lowest and the highest rank that the data permit.
 *     value: mean over the other conditions that all ranked groups have.
 *     ci95: its 95 % interval, in `unit`.
 *     best_share: how likely it is the best, 0 to 1, by what the runs show.
 *     not_told_apart_from: groups without a shown difference from it.
 */
export interface Ranked {
  protocol: string;
  model?: string;
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
 * What people read of a row of a comparison; empty where nothing is known.
 *
 * Attributes:
 *     title: the metric with the unit of `baseline` and `value`.
 *     interval: of the change, with 95 %.
 */
export interface ToldRow {
  title: string;
  change: string;
  interval: string;
  baseline: string;
  value: string;
}
/**
 * A row of a comparison in its chart, of this number; differences are in percent.
 */
export interface DrawnRow {
  name: string[];
  at: number;
  range: Range | null;
  verdict: string;
  row: number;
}
/**
 * A twin beside the recordings.
 *
 * Attributes:
 *     answer: what the fit found, in a sentence.
 *     detail: which drive it is of, and what it was fitted to.
 *     told: what else is to be said of it.
 *     limit_c: the hidden temperature at which the governor acts; None if that was never seen.
 *     left_out: recordings that the twin does not follow, and why.
 *     maps: one for each place of the lines.
 *     no_map: why there are none.
 */
export interface TwinSection {
  answer: string;
  detail: string;
  told: string[];
  limit_c: Range | null;
  lines: TwinLine[];
  left_out: NamedValue[];
  maps: CoolingMap[];
  no_map: string | null;
}
/**
 * A recording, and what a twin makes of it; times are from the recording's start.
 *
 * Attributes:
 *     recording: its index in `Page.recordings`.
 *     place: its place in words.
 *     summary: how close they are, and when heat began to slow the drive.
 *     measured: the readings of the sensor that the twin was fitted to.
 *     reported: what that sensor would report by the twin.
 *     hidden: what the governor acts on; `low` to `high` encloses it with 90 %.
 *     onsets_s: when heat began to slow the drive.
 *     end_s: when the recording ends.
 */
export interface TwinLine {
  recording: number;
  label: string;
  place: string;
  summary: string;
  measured: ChartSeries;
  reported: ChartSeries;
  hidden: ChartSeries;
  low: ChartSeries;
  high: ChartSeries;
  onsets_s: number[];
  end_s: number;
}
/**
 * What other air and other cooling would make of a place, for likely drives.
 *
 * The lists of points are row by row, a row for each resistance; None where the drive would run
 * away without any load.
 *
 * Attributes:
 *     place: in words.
 *     workload: what is run, for `duration_s`.
 *     recordings: how many were made in the place; heat slowed the drive in `throttled` of them.
 *     full_mb_s: what it moves at first.
 *     air_c: air at the drive, rising; `own_air` is the number of the place's own, which is known
 *         as `air_range_c`.
 *     k_per_w: the resistance from the board to the air, likewise.
 *     cliff: where the drive slows down without any heat, in a sentence.
 *     throttles: the probability that heat slows it.
 *     onset_s: when it begins to, if it does.
 *     depth_pct: how much of its speed heat takes in the worst minute, if it throttles.
 *     throttled_mb_s: what it moves in that minute.
 *     max_temp_c: the highest temperature that it reports.
 */
export interface CoolingMap {
  place: string;
  workload: string;
  duration_s: number;
  recordings: number;
  throttled: number;
  full_mb_s: number;
  air_c: number[];
  own_air: number;
  air_range_c: Range;
  k_per_w: number[];
  own_k_per_w: number;
  cliff: string | null;
  throttles: (number | null)[];
  onset_s: (Range | null)[];
  depth_pct: (Range | null)[];
  throttled_mb_s: (Range | null)[];
  max_temp_c: (number | null)[];
}
/**
 * A sweep: a table of its groups, and its points as maps.
 *
 * Attributes:
 *     axes: what varies. There is a point for each combination, the last axis fastest.
 *     fixed: what all points have in common, in words.
 *     headings: of the table; the first `words` columns are text, the others numbers.
 *     rows: its cells; `shown` of them at once.
 *     duration_s: how long the load lasts, if that is the same at all points.
 *     level: how much of what is likely lies between the columns ``low`` and ``high``.
 *     columns: by the names of the sweep's table. A point whose `throttles` is not known is
 *         impossible: the drive would run away without any load.
 */
export interface SweepSection {
  axes: SweepAxis[];
  fixed: string;
  headings: string[];
  words: number;
  rows: string[][];
  shown: number;
  duration_s: number | null;
  level: number;
  columns: {
    [k: string]: SweepColumn;
  };
}
/**
 * A parameter that a sweep varies.
 *
 * Attributes:
 *     id: its column in the sweep's table.
 *     label: what it is, in words.
 *     prefix: what goes before a value in a sentence; empty where it speaks for itself.
 *     values: as text.
 *     numbers: the same as numbers, rising; None for names, which have no scale.
 *     unit: that of `numbers`.
 */
export interface SweepAxis {
  id: string;
  label: string;
  prefix: string;
  values: string[];
  numbers: number[] | null;
  unit: string;
}
/**
 * A quantity at the points of a sweep.
 *
 * Attributes:
 *     known: 1 for each point that has a value, else 0; None if all have.
 *     values: those of the points that have one.
 */
export interface SweepColumn {
  known: Packed | null;
  values: Packed;
}
/**
 * A rack of drives: hosts as rows, other places as columns.
 */
export interface RackSection {
  row_label: string;
  column_label: string;
  rows: string[];
  columns: string[];
  measures: RackChart[];
  drives: RackDriveLine[];
  tiles: RackTile[];
}
/**
 * A measure of a rack, and what places and drives do to it.
 *
 * Attributes:
 *     unit: of differences; `value_unit` is that of what was measured.
 *     worse: which direction is worse.
 */
export interface RackChart {
  name: string;
  unit: "%" | "pp" | "K";
  value_unit: string;
  worse: "low" | "high";
  sentence: string;
  places: DeltaGroup[];
  models: DeltaGroup[];
}
/**
 * What the places of a label do, or the drives of a model.
 *
 * Attributes:
 *     why_unknown: why what the places do cannot be told.
 */
export interface DeltaGroup {
  title: string;
  deltas: Delta[];
  why_unknown: string | null;
}
/**
 * A difference in a chart, with its interval if that is known.
 *
 * Attributes:
 *     name: what it is of: step, drive model, metric and group, as far as they differ.
 *     verdict: that of a row of a comparison; in a rack ``better``, ``worse`` or ``same``.
 */
export interface Delta {
  name: string[];
  at: number;
  range: Range | null;
  verdict: string;
}
/**
 * A drive in the list of who passes.
 *
 * Attributes:
 *     is_unlike: whether it is unlike others of its model, for better or worse.
 *     line: throughput over the first step that is compared, in MB/s at equal distances.
 */
export interface RackDriveLine {
  drive: string;
  serial: string | null;
  model: string | null;
  firmware: string | null;
  where: string;
  tests: number;
  verdict: "passes" | "throttles" | "open" | "fails";
  passes: boolean;
  why: string[];
  explained: string | null;
  is_unlike: boolean;
  line: number[];
}
/**
 * What a drive did in a place; `row`, `column` and `drive` are numbers in the section's lists.
 *
 * Attributes:
 *     values: of each measure, the mean of all runs there; None if there is none.
 */
export interface RackTile {
  row: number;
  column: number;
  drive: number;
  values: (number | null)[];
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
