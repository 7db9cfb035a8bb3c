package gather

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAttachmentsOf: a snapshot has no attachments of volumes that the pod does not have.
func TestAttachmentsOf(t *testing.T) {
	of := func(volume *string) storagev1.VolumeAttachment {
		return storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: volume}}}
	}
	mine := []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}}
	got := attachmentsOf([]storagev1.VolumeAttachment{of(new("other")), of(new("mine")), of(nil)}, mine)
	if len(got) != 1 || *got[0].Spec.Source.PersistentVolumeName != "mine" {
		t.Errorf("got %v", got)
	}
}
