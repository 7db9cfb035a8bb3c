package causes

// controllersChecks are the checks of table/controllers.yaml.
var controllersChecks []check
