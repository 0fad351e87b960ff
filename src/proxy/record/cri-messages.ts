/**
 * Every field of every message of CRI v1, with what a recording keeps of it.
 *
 * A field is `name=number`, and behind it what it is: nothing for a text that is kept, `#` for a number or a flag, `##`
 * for several, `:Type` for messages, `~map` for texts by name. What may hold a secret names its rule instead:
 *
 * - `~env`, `~secret`: never kept. Values of variables, logins, tokens, addresses of streams that whoever has may open.
 * - `~annotations`: values are kept of those that are asked for by name.
 * - `~command`: kept when asked for. Commands bear passwords.
 * - `~output`: kept when asked for. What programs in containers print.
 * - `~info`: JSON of a runtime's own, of which the shape, numbers and a few names are kept.
 *
 * A test holds it against the messages that are generated: what is not classified here is not recorded.
 *
 * @module
 */

/** By the message's name. */
export const CRI_MESSAGES: Readonly<Record<string, string>> = {
  VersionRequest: 'version=1',
  VersionResponse: 'version=1 runtime_name=2 runtime_version=3 runtime_api_version=4',
  DNSConfig: 'servers=1 searches=2 options=3',
  PortMapping: 'protocol=1# container_port=2# host_port=3# host_ip=4',
  Mount:
    'container_path=1 host_path=2 readonly=3# selinux_relabel=4# propagation=5# ' +
    'uidMappings=6:IDMapping gidMappings=7:IDMapping recursive_read_only=8# image=9:ImageSpec ' +
    'image_sub_path=10',
  IDMapping: 'host_id=1# container_id=2# length=3#',
  UserNamespace: 'mode=1# uids=2:IDMapping gids=3:IDMapping',
  NamespaceOption: 'network=1# pid=2# ipc=3# target_id=4 userns_options=5:UserNamespace',
  Int64Value: 'value=1#',
  LinuxSandboxSecurityContext:
    'namespace_options=1:NamespaceOption selinux_options=2:SELinuxOption run_as_user=3:Int64Value ' +
    'run_as_group=8:Int64Value readonly_rootfs=4# supplemental_groups=5## ' +
    'supplemental_groups_policy=11# privileged=6# seccomp=9:SecurityProfile ' +
    'apparmor=10:SecurityProfile seccomp_profile_path=7',
  SecurityProfile: 'profile_type=1# localhost_ref=2',
  LinuxPodSandboxConfig:
    'cgroup_parent=1 security_context=2:LinuxSandboxSecurityContext sysctls=3~map ' +
    'overhead=4:LinuxContainerResources resources=5:LinuxContainerResources',
  PodSandboxMetadata: 'name=1 uid=2 namespace=3 attempt=4#',
  PodSandboxConfig:
    'metadata=1:PodSandboxMetadata hostname=2 log_directory=3 dns_config=4:DNSConfig ' +
    'port_mappings=5:PortMapping labels=6~map annotations=7~annotations ' +
    'linux=8:LinuxPodSandboxConfig windows=9:WindowsPodSandboxConfig',
  RunPodSandboxRequest: 'config=1:PodSandboxConfig runtime_handler=2',
  RunPodSandboxResponse: 'pod_sandbox_id=1',
  StopPodSandboxRequest: 'pod_sandbox_id=1',
  StopPodSandboxResponse: '',
  RemovePodSandboxRequest: 'pod_sandbox_id=1',
  RemovePodSandboxResponse: '',
  PodSandboxStatusRequest: 'pod_sandbox_id=1 verbose=2#',
  PodIP: 'ip=1',
  PodSandboxNetworkStatus: 'ip=1 additional_ips=2:PodIP',
  Namespace: 'options=2:NamespaceOption',
  LinuxPodSandboxStatus: 'namespaces=1:Namespace',
  PodSandboxStatus:
    'id=1 metadata=2:PodSandboxMetadata state=3# created_at=4# network=5:PodSandboxNetworkStatus ' +
    'linux=6:LinuxPodSandboxStatus labels=7~map annotations=8~annotations runtime_handler=9',
  PodSandboxStatusResponse:
    'status=1:PodSandboxStatus info=2~info containers_statuses=3:ContainerStatus timestamp=4#',
  PodSandboxStateValue: 'state=1#',
  PodSandboxFilter: 'id=1 state=2:PodSandboxStateValue label_selector=3~map',
  ListPodSandboxRequest: 'filter=1:PodSandboxFilter',
  PodSandbox:
    'id=1 metadata=2:PodSandboxMetadata state=3# created_at=4# labels=5~map ' +
    'annotations=6~annotations runtime_handler=7',
  ListPodSandboxResponse: 'items=1:PodSandbox',
  StreamPodSandboxesRequest: 'filter=1:PodSandboxFilter',
  StreamPodSandboxesResponse: 'pod_sandboxes=1:PodSandbox',
  PodSandboxStatsRequest: 'pod_sandbox_id=1',
  PodSandboxStatsResponse: 'stats=1:PodSandboxStats',
  PodSandboxStatsFilter: 'id=1 label_selector=2~map',
  ListPodSandboxStatsRequest: 'filter=1:PodSandboxStatsFilter',
  ListPodSandboxStatsResponse: 'stats=1:PodSandboxStats',
  StreamPodSandboxStatsRequest: 'filter=1:PodSandboxStatsFilter',
  StreamPodSandboxStatsResponse: 'pod_sandbox_stats=1:PodSandboxStats',
  PodSandboxAttributes: 'id=1 metadata=2:PodSandboxMetadata labels=3~map annotations=4~annotations',
  PodSandboxStats:
    'attributes=1:PodSandboxAttributes linux=2:LinuxPodSandboxStats ' + 'windows=3:WindowsPodSandboxStats',
  LinuxPodSandboxStats:
    'cpu=1:CpuUsage memory=2:MemoryUsage network=3:NetworkUsage process=4:ProcessUsage ' +
    'containers=5:ContainerStats io=6:IoUsage',
  WindowsPodSandboxStats:
    'cpu=1:WindowsCpuUsage memory=2:WindowsMemoryUsage network=3:WindowsNetworkUsage ' +
    'process=4:WindowsProcessUsage containers=5:WindowsContainerStats',
  NetworkUsage: 'timestamp=1# default_interface=2:NetworkInterfaceUsage interfaces=3:NetworkInterfaceUsage',
  WindowsNetworkUsage:
    'timestamp=1# default_interface=2:WindowsNetworkInterfaceUsage ' +
    'interfaces=3:WindowsNetworkInterfaceUsage',
  NetworkInterfaceUsage:
    'name=1 rx_bytes=2:UInt64Value rx_errors=3:UInt64Value tx_bytes=4:UInt64Value ' +
    'tx_errors=5:UInt64Value',
  WindowsNetworkInterfaceUsage:
    'name=1 rx_bytes=2:UInt64Value rx_packets_dropped=3:UInt64Value tx_bytes=4:UInt64Value ' +
    'tx_packets_dropped=5:UInt64Value',
  ProcessUsage: 'timestamp=1# process_count=2:UInt64Value',
  WindowsProcessUsage: 'timestamp=1# process_count=2:UInt64Value',
  ImageSpec: 'image=1 annotations=2~annotations user_specified_image=18 runtime_handler=19 image_ref=20',
  KeyValue: 'key=1 value=2~env',
  LinuxContainerResources:
    'cpu_period=1# cpu_quota=2# cpu_shares=3# memory_limit_in_bytes=4# oom_score_adj=5# ' +
    'cpuset_cpus=6 cpuset_mems=7 hugepage_limits=8:HugepageLimit unified=9~map ' +
    'memory_swap_limit_in_bytes=10#',
  HugepageLimit: 'page_size=1 limit=2#',
  SELinuxOption: 'user=1 role=2 type=3 level=4',
  Capability: 'add_capabilities=1 drop_capabilities=2 add_ambient_capabilities=3',
  LinuxContainerSecurityContext:
    'capabilities=1:Capability privileged=2# namespace_options=3:NamespaceOption ' +
    'selinux_options=4:SELinuxOption run_as_user=5:Int64Value run_as_group=12:Int64Value ' +
    'run_as_username=6 readonly_rootfs=7# supplemental_groups=8## supplemental_groups_policy=17# ' +
    'no_new_privs=11# masked_paths=13 readonly_paths=14 seccomp=15:SecurityProfile ' +
    'apparmor=16:SecurityProfile apparmor_profile=9 seccomp_profile_path=10',
  LinuxContainerConfig:
    'resources=1:LinuxContainerResources security_context=2:LinuxContainerSecurityContext',
  LinuxContainerUser: 'uid=1# gid=2# supplemental_groups=3##',
  WindowsNamespaceOption: 'network=1#',
  WindowsSandboxSecurityContext:
    'run_as_username=1 credential_spec=2~secret host_process=3# ' +
    'namespace_options=4:WindowsNamespaceOption',
  WindowsPodSandboxConfig: 'security_context=1:WindowsSandboxSecurityContext',
  WindowsContainerSecurityContext: 'run_as_username=1 credential_spec=2~secret host_process=3#',
  WindowsContainerConfig:
    'resources=1:WindowsContainerResources security_context=2:WindowsContainerSecurityContext',
  WindowsContainerResources:
    'cpu_shares=1# cpu_count=2# cpu_maximum=3# memory_limit_in_bytes=4# rootfs_size_in_bytes=5# ' +
    'affinity_cpus=6:WindowsCpuGroupAffinity',
  WindowsCpuGroupAffinity: 'cpu_mask=1# cpu_group=2#',
  ContainerMetadata: 'name=1 attempt=2#',
  Device: 'container_path=1 host_path=2 permissions=3',
  CDIDevice: 'name=1',
  ContainerConfig:
    'metadata=1:ContainerMetadata image=2:ImageSpec command=3~command args=4~command ' +
    'working_dir=5 envs=6:KeyValue mounts=7:Mount devices=8:Device labels=9~map ' +
    'annotations=10~annotations log_path=11 stdin=12# stdin_once=13# tty=14# ' +
    'linux=15:LinuxContainerConfig windows=16:WindowsContainerConfig CDI_devices=17:CDIDevice ' +
    'stop_signal=18#',
  CreateContainerRequest: 'pod_sandbox_id=1 config=2:ContainerConfig sandbox_config=3:PodSandboxConfig',
  CreateContainerResponse: 'container_id=1',
  StartContainerRequest: 'container_id=1',
  StartContainerResponse: '',
  StopContainerRequest: 'container_id=1 timeout=2#',
  StopContainerResponse: '',
  RemoveContainerRequest: 'container_id=1',
  RemoveContainerResponse: '',
  ContainerStateValue: 'state=1#',
  ContainerFilter: 'id=1 state=2:ContainerStateValue pod_sandbox_id=3 label_selector=4~map',
  ListContainersRequest: 'filter=1:ContainerFilter',
  Container:
    'id=1 pod_sandbox_id=2 metadata=3:ContainerMetadata image=4:ImageSpec image_ref=5 state=6# ' +
    'created_at=7# labels=8~map annotations=9~annotations image_id=10',
  ListContainersResponse: 'containers=1:Container',
  StreamContainersRequest: 'filter=1:ContainerFilter',
  StreamContainersResponse: 'containers=1:Container',
  ContainerStatusRequest: 'container_id=1 verbose=2#',
  ContainerStatus:
    'id=1 metadata=2:ContainerMetadata state=3# created_at=4# started_at=5# finished_at=6# ' +
    'exit_code=7# image=8:ImageSpec image_ref=9 reason=10 message=11~output labels=12~map ' +
    'annotations=13~annotations mounts=14:Mount log_path=15 resources=16:ContainerResources ' +
    'image_id=17 user=18:ContainerUser stop_signal=19#',
  ContainerStatusResponse: 'status=1:ContainerStatus info=2~info',
  ContainerResources: 'linux=1:LinuxContainerResources windows=2:WindowsContainerResources',
  ContainerUser: 'linux=1:LinuxContainerUser',
  UpdateContainerResourcesRequest:
    'container_id=1 linux=2:LinuxContainerResources windows=3:WindowsContainerResources ' +
    'annotations=4~annotations',
  UpdateContainerResourcesResponse: '',
  ExecSyncRequest: 'container_id=1 cmd=2~command timeout=3#',
  ExecSyncResponse: 'stdout=1~output stderr=2~output exit_code=3#',
  ExecRequest: 'container_id=1 cmd=2~command tty=3# stdin=4# stdout=5# stderr=6#',
  ExecResponse: 'url=1~secret',
  AttachRequest: 'container_id=1 stdin=2# tty=3# stdout=4# stderr=5#',
  AttachResponse: 'url=1~secret',
  PortForwardRequest: 'pod_sandbox_id=1 port=2##',
  PortForwardResponse: 'url=1~secret',
  ImageFilter: 'image=1:ImageSpec',
  ListImagesRequest: 'filter=1:ImageFilter',
  Image:
    'id=1 repo_tags=2 repo_digests=3 size=4# uid=5:Int64Value username=6 spec=7:ImageSpec ' + 'pinned=8#',
  ListImagesResponse: 'images=1:Image',
  StreamImagesRequest: 'filter=1:ImageFilter',
  StreamImagesResponse: 'images=1:Image',
  ImageStatusRequest: 'image=1:ImageSpec verbose=2#',
  ImageStatusResponse: 'image=1:Image info=2~info',
  AuthConfig:
    'username=1~secret password=2~secret auth=3~secret server_address=4~secret ' +
    'identity_token=5~secret registry_token=6~secret',
  PullImageRequest: 'image=1:ImageSpec auth=2:AuthConfig sandbox_config=3:PodSandboxConfig',
  PullImageResponse: 'image_ref=1',
  RemoveImageRequest: 'image=1:ImageSpec',
  RemoveImageResponse: '',
  NetworkConfig: 'pod_cidr=1',
  RuntimeConfig: 'network_config=1:NetworkConfig',
  UpdateRuntimeConfigRequest: 'runtime_config=1:RuntimeConfig',
  UpdateRuntimeConfigResponse: '',
  RuntimeCondition: 'type=1 status=2# reason=3 message=4',
  RuntimeStatus: 'conditions=1:RuntimeCondition',
  StatusRequest: 'verbose=1#',
  RuntimeHandlerFeatures: 'recursive_read_only_mounts=1# user_namespaces=2#',
  RuntimeHandler: 'name=1 features=2:RuntimeHandlerFeatures',
  RuntimeFeatures: 'supplemental_groups_policy=1# user_namespaces_host_network=2#',
  StatusResponse:
    'status=1:RuntimeStatus info=2~info runtime_handlers=3:RuntimeHandler ' + 'features=4:RuntimeFeatures',
  ImageFsInfoRequest: '',
  UInt64Value: 'value=1#',
  FilesystemIdentifier: 'mountpoint=1',
  FilesystemUsage:
    'timestamp=1# fs_id=2:FilesystemIdentifier used_bytes=3:UInt64Value inodes_used=4:UInt64Value',
  WindowsFilesystemUsage: 'timestamp=1# fs_id=2:FilesystemIdentifier used_bytes=3:UInt64Value',
  ImageFsInfoResponse: 'image_filesystems=1:FilesystemUsage container_filesystems=2:FilesystemUsage',
  ContainerStatsRequest: 'container_id=1',
  ContainerStatsResponse: 'stats=1:ContainerStats',
  ListContainerStatsRequest: 'filter=1:ContainerStatsFilter',
  ContainerStatsFilter: 'id=1 pod_sandbox_id=2 label_selector=3~map',
  ListContainerStatsResponse: 'stats=1:ContainerStats',
  StreamContainerStatsRequest: 'filter=1:ContainerStatsFilter',
  StreamContainerStatsResponse: 'container_stats=1:ContainerStats',
  ContainerAttributes: 'id=1 metadata=2:ContainerMetadata labels=3~map annotations=4~annotations',
  ContainerStats:
    'attributes=1:ContainerAttributes cpu=2:CpuUsage memory=3:MemoryUsage ' +
    'writable_layer=4:FilesystemUsage swap=5:SwapUsage io=6:IoUsage',
  WindowsContainerStats:
    'attributes=1:ContainerAttributes cpu=2:WindowsCpuUsage memory=3:WindowsMemoryUsage ' +
    'writable_layer=4:WindowsFilesystemUsage',
  PsiStats: 'Full=1:PsiData Some=2:PsiData',
  PsiData: 'Total=1# Avg10=2# Avg60=3# Avg300=4#',
  CpuUsage:
    'timestamp=1# usage_core_nano_seconds=2:UInt64Value usage_nano_cores=3:UInt64Value ' + 'psi=4:PsiStats',
  WindowsCpuUsage: 'timestamp=1# usage_core_nano_seconds=2:UInt64Value usage_nano_cores=3:UInt64Value',
  MemoryUsage:
    'timestamp=1# working_set_bytes=2:UInt64Value available_bytes=3:UInt64Value ' +
    'usage_bytes=4:UInt64Value rss_bytes=5:UInt64Value page_faults=6:UInt64Value ' +
    'major_page_faults=7:UInt64Value psi=8:PsiStats',
  IoUsage: 'timestamp=1# psi=2:PsiStats',
  SwapUsage: 'timestamp=1# swap_available_bytes=2:UInt64Value swap_usage_bytes=3:UInt64Value',
  WindowsMemoryUsage:
    'timestamp=1# working_set_bytes=2:UInt64Value available_bytes=3:UInt64Value ' +
    'page_faults=4:UInt64Value commit_memory_bytes=5:UInt64Value',
  ReopenContainerLogRequest: 'container_id=1',
  ReopenContainerLogResponse: '',
  CheckpointContainerRequest: 'container_id=1 location=2 timeout=3#',
  CheckpointContainerResponse: '',
  GetEventsRequest: '',
  ContainerEventResponse:
    'container_id=1 container_event_type=2# created_at=3# pod_sandbox_status=4:PodSandboxStatus ' +
    'containers_statuses=5:ContainerStatus',
  ListMetricDescriptorsRequest: '',
  ListMetricDescriptorsResponse: 'descriptors=1:MetricDescriptor',
  MetricDescriptor: 'name=1 help=2 label_keys=3',
  ListPodSandboxMetricsRequest: '',
  ListPodSandboxMetricsResponse: 'pod_metrics=1:PodSandboxMetrics',
  StreamPodSandboxMetricsRequest: '',
  StreamPodSandboxMetricsResponse: 'pod_sandbox_metrics=1:PodSandboxMetrics',
  PodSandboxMetrics: 'pod_sandbox_id=1 metrics=2:Metric container_metrics=3:ContainerMetrics',
  ContainerMetrics: 'container_id=1 metrics=2:Metric',
  Metric: 'name=1 timestamp=2# metric_type=3# label_values=4 value=5:UInt64Value',
  RuntimeConfigRequest: '',
  RuntimeConfigResponse: 'linux=1:LinuxRuntimeConfiguration',
  LinuxRuntimeConfiguration: 'cgroup_driver=1#',
  UpdatePodSandboxResourcesRequest:
    'pod_sandbox_id=1 overhead=2:LinuxContainerResources resources=3:LinuxContainerResources',
  UpdatePodSandboxResourcesResponse: '',
};
