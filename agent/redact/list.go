package redact

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Showing is how the texts of a field or member are shown. With the zero value they are not shown.
type Showing uint8

const (
	// ShowText is for texts that the kubelet or the runtime made: ids, names, paths. They
	// are scrubbed all the same.
	ShowText Showing = iota + 1
	// ShowCommand is for the words of commands: see Command. ShowOptions is for those without a program in front.
	ShowCommand
	ShowOptions
	// ShowTexts is for maps whose values are shown, scrubbed.
	ShowTexts
	// ShowAnnotations is for maps of annotations: plainAnnotations are shown, and only the names of others.
	ShowAnnotations
	// ShowByKey is for values whose name is the member Key beside them.
	ShowByKey
)

// shownFields has the fields with texts of CRI messages that are shown, by how they are shown. The names lack the
// CRI's package. Other fields are not shown: above all values of environment variables, credentials of registries,
// what commands print, the messages of dead containers, and what runtimes add for debugging.
var shownFields = map[Showing][]string{
	ShowText: {
		"VersionRequest.version",
		"VersionResponse.version", "VersionResponse.runtime_name", "VersionResponse.runtime_version", "VersionResponse.runtime_api_version",
		"DNSConfig.servers", "DNSConfig.searches", "DNSConfig.options",
		"PortMapping.host_ip",
		"Mount.container_path", "Mount.host_path", "Mount.image_sub_path",
		"NamespaceOption.target_id",
		"LinuxSandboxSecurityContext.seccomp_profile_path",
		"SecurityProfile.localhost_ref",
		"LinuxPodSandboxConfig.cgroup_parent",
		"PodSandboxMetadata.name", "PodSandboxMetadata.uid", "PodSandboxMetadata.namespace",
		"PodSandboxConfig.hostname", "PodSandboxConfig.log_directory",
		"RunPodSandboxRequest.runtime_handler",
		"RunPodSandboxResponse.pod_sandbox_id",
		"StopPodSandboxRequest.pod_sandbox_id",
		"RemovePodSandboxRequest.pod_sandbox_id",
		"PodSandboxStatusRequest.pod_sandbox_id",
		"PodIP.ip",
		"PodSandboxNetworkStatus.ip",
		"PodSandboxStatus.id", "PodSandboxStatus.runtime_handler",
		"PodSandboxFilter.id",
		"PodSandbox.id", "PodSandbox.runtime_handler",
		"PodSandboxStatsRequest.pod_sandbox_id",
		"PodSandboxStatsFilter.id",
		"PodSandboxAttributes.id",
		"NetworkInterfaceUsage.name",
		"WindowsNetworkInterfaceUsage.name",
		"ImageSpec.image", "ImageSpec.user_specified_image", "ImageSpec.runtime_handler", "ImageSpec.image_ref",
		"KeyValue.key",
		"LinuxContainerResources.cpuset_cpus", "LinuxContainerResources.cpuset_mems",
		"HugepageLimit.page_size",
		"SELinuxOption.user", "SELinuxOption.role", "SELinuxOption.type", "SELinuxOption.level",
		"Capability.add_capabilities", "Capability.drop_capabilities", "Capability.add_ambient_capabilities",
		"LinuxContainerSecurityContext.run_as_username", "LinuxContainerSecurityContext.masked_paths", "LinuxContainerSecurityContext.readonly_paths",
		"LinuxContainerSecurityContext.apparmor_profile", "LinuxContainerSecurityContext.seccomp_profile_path",
		"WindowsSandboxSecurityContext.run_as_username",
		"WindowsContainerSecurityContext.run_as_username",
		"ContainerMetadata.name",
		"Device.container_path", "Device.host_path", "Device.permissions",
		"CDIDevice.name",
		"ContainerConfig.working_dir", "ContainerConfig.log_path",
		"CreateContainerRequest.pod_sandbox_id",
		"CreateContainerResponse.container_id",
		"StartContainerRequest.container_id",
		"StopContainerRequest.container_id",
		"RemoveContainerRequest.container_id",
		"ContainerFilter.id", "ContainerFilter.pod_sandbox_id",
		"Container.id", "Container.pod_sandbox_id", "Container.image_ref", "Container.image_id",
		"ContainerStatusRequest.container_id",
		"ContainerStatus.id", "ContainerStatus.image_ref", "ContainerStatus.reason", "ContainerStatus.log_path",
		"ContainerStatus.image_id",
		"UpdateContainerResourcesRequest.container_id",
		"ExecSyncRequest.container_id",
		"ExecRequest.container_id",
		"AttachRequest.container_id",
		"PortForwardRequest.pod_sandbox_id",
		"Image.id", "Image.repo_tags", "Image.repo_digests", "Image.username",
		"AuthConfig.server_address",
		"PullImageResponse.image_ref",
		"NetworkConfig.pod_cidr",
		"RuntimeCondition.type", "RuntimeCondition.reason", "RuntimeCondition.message",
		"RuntimeHandler.name",
		"FilesystemIdentifier.mountpoint",
		"ContainerStatsRequest.container_id",
		"ContainerStatsFilter.id", "ContainerStatsFilter.pod_sandbox_id",
		"ContainerAttributes.id",
		"ReopenContainerLogRequest.container_id",
		"CheckpointContainerRequest.container_id", "CheckpointContainerRequest.location",
		"ContainerEventResponse.container_id",
		"PodSandboxMetrics.pod_sandbox_id",
		"ContainerMetrics.container_id",
		"MetricDescriptor.name", "MetricDescriptor.label_keys",
		"Metric.name",
		"UpdatePodSandboxResourcesRequest.pod_sandbox_id",
	},
	ShowCommand: {
		"ContainerConfig.command",
		"ExecSyncRequest.cmd",
		"ExecRequest.cmd",
	},
	ShowOptions: {
		"ContainerConfig.args",
	},
	ShowTexts: {
		"PodSandboxConfig.labels",
		"PodSandboxStatus.labels",
		"PodSandbox.labels",
		"PodSandboxAttributes.labels",
		"ContainerConfig.labels",
		"Container.labels",
		"ContainerStatus.labels",
		"ContainerAttributes.labels",
		"PodSandboxFilter.label_selector",
		"PodSandboxStatsFilter.label_selector",
		"ContainerFilter.label_selector",
		"ContainerStatsFilter.label_selector",
		"LinuxPodSandboxConfig.sysctls",
		"LinuxContainerResources.unified",
	},
	ShowAnnotations: {
		"PodSandboxConfig.annotations",
		"PodSandboxStatus.annotations",
		"PodSandbox.annotations",
		"PodSandboxAttributes.annotations",
		"ContainerConfig.annotations",
		"Container.annotations",
		"ContainerStatus.annotations",
		"ContainerAttributes.annotations",
		"ImageSpec.annotations",
		"UpdateContainerResourcesRequest.annotations",
	},
}

// messageFields has shownFields by their full names.
var messageFields = map[protoreflect.FullName]Showing{}

func init() {
	for how, fields := range shownFields {
		for _, f := range fields {
			messageFields[protoreflect.FullName(criPackage+f)] = how
		}
	}
}

// criPackage begins the names of the CRI's messages.
const criPackage = "runtime.v1."

// plainAnnotations are shown: marks of the kubelet, the runtimes and kubectl that are numbers, names, times and
// paths. All others are shown by name only: manifests that deployers keep, a container's preStop hook with its
// command and headers, and anything that people and operators put there.
var plainAnnotations = map[string]bool{
	"io.kubernetes.container.hash":                     true,
	"io.kubernetes.container.restartCount":             true,
	"io.kubernetes.container.terminationMessagePath":   true,
	"io.kubernetes.container.terminationMessagePolicy": true,
	"io.kubernetes.container.ports":                    true,
	"io.kubernetes.pod.terminationGracePeriod":         true,
	"io.kubernetes.pod.deletionGracePeriod":            true,
	"kubernetes.io/config.source":                      true,
	"kubernetes.io/config.seen":                        true,
	"kubernetes.io/config.hash":                        true,
	"kubernetes.io/config.mirror":                      true,
	"io.kubernetes.cri.container-type":                 true,
	"io.kubernetes.cri.container-name":                 true,
	"io.kubernetes.cri.image-name":                     true,
	"io.kubernetes.cri.podsandbox.image-name":          true,
	"io.kubernetes.cri.sandbox-id":                     true,
	"io.kubernetes.cri.sandbox-name":                   true,
	"io.kubernetes.cri.sandbox-namespace":              true,
	"io.kubernetes.cri.sandbox-uid":                    true,
	"io.kubernetes.cri.sandbox-log-directory":          true,
	"io.kubernetes.cri.sandbox-cpu-period":             true,
	"io.kubernetes.cri.sandbox-cpu-quota":              true,
	"io.kubernetes.cri.sandbox-cpu-shares":             true,
	"io.kubernetes.cri.sandbox-memory":                 true,
	"io.kubernetes.cri-o.ContainerType":                true,
	"io.kubernetes.cri-o.ContainerID":                  true,
	"io.kubernetes.cri-o.SandboxID":                    true,
	"io.kubernetes.cri-o.Created":                      true,
	"kubectl.kubernetes.io/restartedAt":                true,
	"kubectl.kubernetes.io/default-container":          true,
	"seccomp.security.alpha.kubernetes.io/pod":         true,
}

// appArmorAnnotation begins the names of annotations that name the AppArmor profile
// of a container.
const appArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/"

func plainAnnotation(name string) bool {
	return plainAnnotations[name] || strings.HasPrefix(name, appArmorAnnotation)
}
