/**
 * The metrics about usage of a kubelet v1.37.2 in use: name, type and labels of each, by page.
 *
 * @module
 */

type Row = readonly [name: string, type: 'counter' | 'gauge', labels: readonly string[]];

const CONTAINER = ['container', 'id', 'image', 'name', 'namespace', 'pod'];
const NETWORK = [...CONTAINER, 'interface'].sort();
const MACHINE = ['boot_id', 'machine_id', 'system_uuid'];

export const KUBELET_USAGE_METRICS: Readonly<
  Record<'/metrics/cadvisor' | '/metrics/resource', readonly Row[]>
> = {
  '/metrics/cadvisor': [
    ['container_cpu_system_seconds_total', 'counter', CONTAINER],
    [
      'container_cpu_usage_seconds_total',
      'counter',
      ['container', 'cpu', 'id', 'image', 'name', 'namespace', 'pod'],
    ],
    ['container_cpu_user_seconds_total', 'counter', CONTAINER],
    ['container_file_descriptors', 'gauge', CONTAINER],
    ['container_health_state', 'gauge', CONTAINER],
    ['container_last_seen', 'gauge', CONTAINER],
    ['container_memory_cache', 'gauge', CONTAINER],
    ['container_memory_events_high_total', 'counter', CONTAINER],
    ['container_memory_events_max_total', 'counter', CONTAINER],
    ['container_memory_failcnt', 'counter', CONTAINER],
    [
      'container_memory_failures_total',
      'counter',
      ['container', 'failure_type', 'id', 'image', 'name', 'namespace', 'pod', 'scope'],
    ],
    ['container_memory_file_dirty_bytes', 'gauge', CONTAINER],
    ['container_memory_file_writeback_bytes', 'gauge', CONTAINER],
    ['container_memory_kernel_usage', 'gauge', CONTAINER],
    ['container_memory_mapped_file', 'gauge', CONTAINER],
    ['container_memory_max_usage_bytes', 'gauge', CONTAINER],
    ['container_memory_pgscan_total', 'counter', CONTAINER],
    ['container_memory_pgsteal_total', 'counter', CONTAINER],
    ['container_memory_rss', 'gauge', CONTAINER],
    ['container_memory_swap', 'gauge', CONTAINER],
    ['container_memory_total_active_file_bytes', 'gauge', CONTAINER],
    ['container_memory_total_inactive_file_bytes', 'gauge', CONTAINER],
    ['container_memory_usage_bytes', 'gauge', CONTAINER],
    ['container_memory_working_set_bytes', 'gauge', CONTAINER],
    ['container_memory_workingset_refault_anon_total', 'counter', CONTAINER],
    ['container_memory_workingset_refault_file_total', 'counter', CONTAINER],
    ['container_network_receive_bytes_total', 'counter', NETWORK],
    ['container_network_receive_errors_total', 'counter', NETWORK],
    ['container_network_receive_packets_dropped_total', 'counter', NETWORK],
    ['container_network_receive_packets_total', 'counter', NETWORK],
    ['container_network_transmit_bytes_total', 'counter', NETWORK],
    ['container_network_transmit_errors_total', 'counter', NETWORK],
    ['container_network_transmit_packets_dropped_total', 'counter', NETWORK],
    ['container_network_transmit_packets_total', 'counter', NETWORK],
    ['container_oom_events_total', 'counter', CONTAINER],
    ['container_processes', 'gauge', CONTAINER],
    ['container_scrape_error', 'gauge', []],
    ['container_sockets', 'gauge', CONTAINER],
    ['container_spec_cpu_period', 'gauge', CONTAINER],
    ['container_spec_cpu_shares', 'gauge', CONTAINER],
    ['container_spec_memory_limit_bytes', 'gauge', CONTAINER],
    ['container_spec_memory_reservation_limit_bytes', 'gauge', CONTAINER],
    ['container_spec_memory_swap_limit_bytes', 'gauge', CONTAINER],
    ['container_start_time_seconds', 'gauge', CONTAINER],
    ['container_threads', 'gauge', CONTAINER],
    ['container_threads_max', 'gauge', CONTAINER],
    ['container_ulimits_soft', 'gauge', ['container', 'id', 'image', 'name', 'namespace', 'pod', 'ulimit']],
    ['machine_cpu_books', 'gauge', MACHINE],
    ['machine_cpu_cores', 'gauge', MACHINE],
    ['machine_cpu_drawers', 'gauge', MACHINE],
    ['machine_cpu_physical_cores', 'gauge', MACHINE],
    ['machine_cpu_sockets', 'gauge', MACHINE],
    ['machine_memory_bytes', 'gauge', MACHINE],
    ['machine_nvm_avg_power_budget_watts', 'gauge', MACHINE],
    ['machine_nvm_capacity', 'gauge', ['boot_id', 'machine_id', 'mode', 'system_uuid']],
    ['machine_scrape_error', 'gauge', []],
    ['machine_swap_bytes', 'gauge', MACHINE],
  ],
  '/metrics/resource': [
    ['container_cpu_usage_seconds_total', 'counter', ['container', 'namespace', 'pod']],
    ['container_memory_working_set_bytes', 'gauge', ['container', 'namespace', 'pod']],
    ['container_start_time_seconds', 'gauge', ['container', 'namespace', 'pod']],
    ['container_swap_limit_bytes', 'gauge', ['container', 'namespace', 'pod']],
    ['container_swap_usage_bytes', 'gauge', ['container', 'namespace', 'pod']],
    ['node_cpu_usage_seconds_total', 'counter', []],
    ['node_memory_working_set_bytes', 'gauge', []],
    ['node_swap_usage_bytes', 'gauge', []],
    ['pod_cpu_usage_seconds_total', 'counter', ['namespace', 'pod']],
    ['pod_memory_working_set_bytes', 'gauge', ['namespace', 'pod']],
    ['pod_swap_usage_bytes', 'gauge', ['namespace', 'pod']],
    ['resource_scrape_error', 'gauge', []],
    ['scrape_error', 'gauge', []],
  ],
};

/** What only version 2 of cgroups counts: a kubelet shows 0 on version 1, where podloop leaves it out. */
export const OF_VERSION_2: ReadonlySet<string> = new Set([
  ...['container_memory_events_high_total', 'container_memory_events_max_total'],
  ...['container_memory_pgscan_total', 'container_memory_pgsteal_total'],
]);

/** What podloop does not tell, and why. */
export const NOT_TOLD: ReadonlyMap<string, string> = new Map([
  ['container_health_state', 'of Docker’s health checks, which CRI does not have'],
  ['container_spec_memory_reservation_limit_bytes', 'no field of a pod sets it: a kubelet shows 0 for ever'],
  ...['machine_cpu_books', 'machine_cpu_drawers'].map((name) => [name, 'of mainframes'] as const),
  ...['machine_nvm_avg_power_budget_watts', 'machine_nvm_capacity'].map(
    (name) => [name, 'of persistent memory modules, which are not made any more'] as const,
  ),
]);
