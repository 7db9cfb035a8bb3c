package causes

// admissionChecks are the checks of table/admission.yaml.
var admissionChecks []check
