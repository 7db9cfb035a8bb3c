package redact

import (
	"strings"
)

// coreAPI, metaAPI, criAPI and kubelet begin the names of types of the API, the CRI and the kubelet.
const (
	coreAPI = "k8s.io/api/core/v1."
	metaAPI = "k8s.io/apimachinery/pkg/apis/meta/v1."
	criAPI  = "k8s.io/cri-api/pkg/apis/runtime/v1."
	kubelet = "k8s.io/kubernetes/pkg/kubelet/"
)

// shownMembers has the members with texts of Go types that are shown, by how they are shown: those of the objects of the
// API, and those of the kubelet's own types. Members of CRI messages are those of shownFields. Texts in other members are
// not shown: above all values of environment variables, the words of commands, the data of Secrets and ConfigMaps,
// credentials, attributes of volumes, paths and headers of health probes, what containers wrote.
var shownMembers = map[Showing]map[string]string{
	ShowText: {
		metaAPI + "ObjectMeta":               "Name GenerateName Namespace ResourceVersion Finalizers",
		metaAPI + "OwnerReference":           "APIVersion Kind Name",
		metaAPI + "TypeMeta":                 "Kind APIVersion",
		metaAPI + "LabelSelectorRequirement": "Key",
		metaAPI + "Status":                   "Status Message",

		coreAPI + "AWSElasticBlockStoreVolumeSource":   "VolumeID FSType",
		coreAPI + "AppArmorProfile":                    "LocalhostProfile",
		coreAPI + "AzureDiskVolumeSource":              "DiskName DataDiskURI FSType",
		coreAPI + "AzureFileVolumeSource":              "SecretName ShareName",
		coreAPI + "CSIPersistentVolumeSource":          "Driver VolumeHandle FSType",
		coreAPI + "CSIVolumeSource":                    "Driver FSType",
		coreAPI + "CephFSVolumeSource":                 "Monitors Path SecretFile",
		coreAPI + "CinderVolumeSource":                 "VolumeID FSType",
		coreAPI + "ClusterTrustBundleProjection":       "Name SignerName Path",
		coreAPI + "ConfigMapKeySelector":               "Key",
		coreAPI + "Container":                          "Name Image WorkingDir TerminationMessagePath",
		coreAPI + "ContainerExtendedResourceRequest":   "ContainerName ResourceName RequestName",
		coreAPI + "ContainerPort":                      "Name HostIP",
		coreAPI + "ContainerStateTerminated":           "Reason ContainerID",
		coreAPI + "ContainerStateWaiting":              "Reason Message",
		coreAPI + "ContainerStatus":                    "Name Image ImageID ContainerID",
		coreAPI + "DownwardAPIVolumeFile":              "Path",
		coreAPI + "EnvFromSource":                      "Prefix",
		coreAPI + "EnvVar":                             "Name",
		coreAPI + "EphemeralContainer":                 "TargetContainerName",
		coreAPI + "EphemeralContainerCommon":           "Name Image WorkingDir TerminationMessagePath",
		coreAPI + "FCVolumeSource":                     "TargetWWNs FSType WWIDs",
		coreAPI + "FileKeySelector":                    "VolumeName Path Key",
		coreAPI + "FlexVolumeSource":                   "Driver FSType",
		coreAPI + "FlockerVolumeSource":                "DatasetName DatasetUUID",
		coreAPI + "GCEPersistentDiskVolumeSource":      "PDName FSType",
		coreAPI + "GRPCAction":                         "Service",
		coreAPI + "GitRepoVolumeSource":                "Repository Revision Directory",
		coreAPI + "GlusterfsVolumeSource":              "EndpointsName Path",
		coreAPI + "HTTPGetAction":                      "Host",
		coreAPI + "HTTPHeader":                         "Name",
		coreAPI + "HostAlias":                          "IP",
		coreAPI + "HostIP":                             "IP",
		coreAPI + "HostPathVolumeSource":               "Path",
		coreAPI + "ISCSIVolumeSource":                  "TargetPortal IQN ISCSIInterface FSType Portals",
		coreAPI + "ImageVolumeSource":                  "Reference",
		coreAPI + "ImageVolumeStatus":                  "ImageRef",
		coreAPI + "KeyToPath":                          "Key Path",
		coreAPI + "LocalObjectReference":               "Name",
		coreAPI + "NFSVolumeSource":                    "Server Path",
		coreAPI + "NodeAllocatableResourceClaimStatus": "ResourceClaimName Containers",
		coreAPI + "NodeSelectorRequirement":            "Key",
		coreAPI + "ObjectFieldSelector":                "APIVersion FieldPath",
		coreAPI + "ObjectReference":                    "Kind Namespace Name APIVersion ResourceVersion FieldPath",
		coreAPI + "PersistentVolumeClaimSpec":          "VolumeName StorageClassName VolumeAttributesClassName",
		coreAPI + "PersistentVolumeClaimVolumeSource":  "ClaimName",
		coreAPI + "PodAffinityTerm":                    "Namespaces TopologyKey MatchLabelKeys MismatchLabelKeys",
		coreAPI + "PodCertificateProjection":           "SignerName KeyType CredentialBundlePath KeyPath CertificateChainPath",
		coreAPI + "PodCondition":                       "Reason Message",
		coreAPI + "PodDNSConfig":                       "Nameservers Searches",
		coreAPI + "PodDNSConfigOption":                 "Name Value",
		coreAPI + "PodExtendedResourceClaimStatus":     "ResourceClaimName",
		coreAPI + "PodIP":                              "IP",
		coreAPI + "PodResourceClaim":                   "Name ResourceClaimName ResourceClaimTemplateName",
		coreAPI + "PodResourceClaimStatus":             "Name ResourceClaimName",
		coreAPI + "PodSchedulingGate":                  "Name",
		coreAPI + "PodSchedulingGroup":                 "PodGroupName",
		coreAPI + "PodSpec":                            "ServiceAccountName DeprecatedServiceAccount NodeName Hostname Subdomain SchedulerName PriorityClassName RuntimeClassName HostnameOverride",
		coreAPI + "PodStatus":                          "Message Reason NominatedNodeName HostIP PodIP",
		coreAPI + "RBDVolumeSource":                    "CephMonitors RBDImage FSType RBDPool Keyring",
		coreAPI + "ResourceClaim":                      "Name Request",
		coreAPI + "ResourceFieldSelector":              "ContainerName Resource",
		coreAPI + "ResourceHealth":                     "Message",
		coreAPI + "SELinuxOptions":                     "User Role Type Level",
		coreAPI + "SeccompProfile":                     "LocalhostProfile",
		coreAPI + "SecretKeySelector":                  "Key",
		coreAPI + "SecretReference":                    "Name Namespace",
		coreAPI + "SecretVolumeSource":                 "SecretName",
		coreAPI + "ServiceAccountTokenProjection":      "Audience Path",
		coreAPI + "Sysctl":                             "Name",
		coreAPI + "TCPSocketAction":                    "Host",
		coreAPI + "Toleration":                         "Key",
		coreAPI + "TopologySpreadConstraint":           "TopologyKey MatchLabelKeys",
		coreAPI + "TypedLocalObjectReference":          "APIGroup Kind Name",
		coreAPI + "TypedObjectReference":               "APIGroup Kind Name Namespace",
		coreAPI + "Volume":                             "Name",
		coreAPI + "VolumeDevice":                       "Name DevicePath",
		coreAPI + "VolumeMount":                        "Name MountPath SubPath SubPathExpr",
		coreAPI + "VolumeMountStatus":                  "Name MountPath",
		coreAPI + "VsphereVirtualDiskVolumeSource":     "VolumePath FSType StoragePolicyName",
		coreAPI + "WindowsSecurityContextOptions":      "GMSACredentialSpecName RunAsUserName",

		"k8s.io/apimachinery/pkg/api/resource.Quantity":   "s",
		"k8s.io/apimachinery/pkg/types.NamespacedName":    "Namespace Name",
		"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "StrVal",

		kubelet + "container.Container":      "Name Image ImageID ImageRef ImageRuntimeHandler PodSandboxID",
		kubelet + "container.ContainerID":    "Type ID",
		kubelet + "container.EnvVar":         "Name",
		kubelet + "container.ImageSpec":      "Image RuntimeHandler",
		kubelet + "container.Mount":          "Name ContainerPath HostPath",
		kubelet + "container.Pod":            "Name Namespace",
		kubelet + "container.PodStatus":      "Name Namespace IPs",
		kubelet + "container.Status":         "Name Image ImageID ImageRef ImageRuntimeHandler Reason",
		kubelet + "container.SyncResult":     "Message",
		kubelet + "kuberuntime.podActions":   "SandboxID",
		kubelet + "lifecycle.PodAdmitResult": "Reason Message",

		"k8s.io/kubernetes/pkg/volume/util/operationexecutor.VolumeToMount": "OuterVolumeSpecName DevicePath DeviceMountPath",

		"errors.errorString": "s", "fmt.wrapError": "msg", "fmt.wrapErrors": "msg",
		"io/fs.PathError": "Op Path", "os.SyscallError": "Syscall",
		"net.OpError": "Op Net", "net.DNSError": "Err Name Server", "net/url.Error": "Op URL",
		"google.golang.org/genproto/googleapis/rpc/status.Status": "Message",
	},
	ShowCommand: {
		coreAPI + "Container":                "Command",
		coreAPI + "EphemeralContainerCommon": "Command",
		coreAPI + "ExecAction":               "Command",
	},
	ShowTexts: {
		metaAPI + "ObjectMeta":    "Labels",
		metaAPI + "LabelSelector": "MatchLabels",
		coreAPI + "PodSpec":       "NodeSelector",
	},
	ShowByKey: {
		metaAPI + "LabelSelectorRequirement": "Values",
		coreAPI + "NodeSelectorRequirement":  "Values",
		coreAPI + "Toleration":               "Value",
	},
	ShowAnnotations: {
		metaAPI + "ObjectMeta": "Annotations",
	},
}

// members has shownMembers and shownFields by type and member.
var members = func() map[string]Showing {
	out := map[string]Showing{}
	for how, types := range shownMembers {
		for typ, names := range types {
			for _, name := range strings.Fields(names) {
				out[typ+"."+name] = how
			}
		}
	}
	for how, fields := range shownFields {
		for _, f := range fields {
			typ, name, _ := strings.Cut(f, ".")
			out[criAPI+typ+"."+goName(name)] = how
		}
	}
	return out
}()

// goName returns the name that the Go type of a message has for one of its fields.
func goName(field string) string {
	words := strings.Split(field, "_")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// Member returns how the texts in a member of a Go type are shown. The type's name has the path of its package.
func Member(typ, member string) Showing { return members[typ+"."+member] }

// plainTypes begin the names of types that are texts and never secrets: enumerations, and names such as types.UID.
const plainTypes = "k8s.io/"

// PlainType reports whether all texts of a type are shown: the type has a name of its own, in a package of Kubernetes.
func PlainType(typ string) bool { return strings.HasPrefix(typ, plainTypes) }

// sealed begin the names of types of which nothing is shown, not even numbers: keys, and the numbers of which they are
// made.
var sealed = []string{"crypto/", "golang.org/x/crypto/", "math/big.", "internal/bigmod", "filippo.io/"}

// Sealed reports whether nothing of a type is shown.
func Sealed(typ string) bool {
	for _, s := range sealed {
		if strings.HasPrefix(typ, s) {
			return true
		}
	}
	return false
}

// Named returns what is shown of the text that stands under a name, in a member that is shown this way.
func (how Showing) Named(name, text string) string {
	switch how {
	case ShowText:
		return Text(text)
	case ShowTexts, ShowByKey, ShowAnnotations:
		return mapText(how, name, text)
	}
	return Redacted
}
