{{- /* Checks for contradictory values, which the schema could not report in an understandable way. The first failed check ends rendering. */ -}}
{{- define "parley.checks" -}}
{{- $v := .Values -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" (include "parley.fullname" .)) -}}
{{- fail (printf "the objects would be called %s, which is no name of a Service: choose a fullnameOverride of lower-case letters, digits and -, with a letter first." (include "parley.fullname" .)) -}}
{{- end -}}
{{- if and $v.redis.url $v.redis.existingSecret.name -}}
{{- fail "redis.url and redis.existingSecret.name are both set: use only one of them." -}}
{{- end -}}
{{- if and (hasPrefix "redis" $v.redis.url) (contains "-cluster://" $v.redis.url) (gt (int (default 0 $v.config.PARLEY_REDIS_REPLICAS)) 0) -}}
{{- fail "config.PARLEY_REDIS_REPLICAS does not work with a Redis Cluster: remove it, or use Sentinel (docs/redis.md)." -}}
{{- end -}}
{{- if eq (int $v.ports.http) (int $v.ports.operator) -}}
{{- fail (printf "ports.http and ports.operator are both %d: the operator's port must not be reachable by clients, so choose another one." (int $v.ports.http)) -}}
{{- end -}}
{{- range $role := list "server" "worker" -}}
{{- $values := index $v $role -}}
{{- $context := dict "root" $ "role" $role -}}
{{- $switch := ternary "server.autoscaling.enabled is true" (printf "worker.autoscaling.type is %s" $v.worker.autoscaling.type) (eq $role "server") -}}
{{- if include "parley.scaled" $context -}}
{{- if not (kindIs "invalid" $values.replicas) -}}
{{- fail (printf "%s.replicas is %d and %s: a fixed number and an autoscaler contradict each other. Remove one." $role (int $values.replicas) $switch) -}}
{{- end -}}
{{- if gt (int $values.autoscaling.min) (int $values.autoscaling.max) -}}
{{- fail (printf "%s.autoscaling.min (%d) is greater than %s.autoscaling.max (%d)." $role (int $values.autoscaling.min) $role (int $values.autoscaling.max)) -}}
{{- end -}}
{{- end -}}
{{- if and $values.disruptionBudget.enabled $values.disruptionBudget.minAvailable $values.disruptionBudget.maxUnavailable -}}
{{- fail (printf "%s.disruptionBudget has both minAvailable and maxUnavailable: set one of them to null." $role) -}}
{{- end -}}
{{- if and $values.disruptionBudget.enabled (not $values.disruptionBudget.minAvailable) (not $values.disruptionBudget.maxUnavailable) -}}
{{- fail (printf "%s.disruptionBudget has neither minAvailable nor maxUnavailable: set one of them, or enabled to false." $role) -}}
{{- end -}}
{{- $fewest := int (include "parley.fewest" $context) -}}
{{- if and $values.disruptionBudget.enabled $values.disruptionBudget.minAvailable (gt $fewest 1) -}}
{{- $least := toString $values.disruptionBudget.minAvailable -}}
{{- $pods := ternary (divf (mulf (trimSuffix "%" $least | float64) $fewest) 100 | ceil | int) (int $least) (hasSuffix "%" $least) -}}
{{- if ge $pods $fewest -}}
{{- fail (printf "%s.disruptionBudget.minAvailable is %s, and there may be only %d pods: their nodes could never be drained. Set at most %d, or maxUnavailable." $role $least $fewest (sub $fewest 1)) -}}
{{- end -}}
{{- end -}}
{{- range $label := list "name" "instance" "component" -}}
{{- if hasKey (default dict $values.podLabels) (printf "app.kubernetes.io/%s" $label) -}}
{{- fail (printf "%s.podLabels sets app.kubernetes.io/%s, by which the chart selects its pods: use another label." $role $label) -}}
{{- end -}}
{{- end -}}
{{- $names := list "REDIS_URL" "PARLEY_PORT" "PARLEY_METRICS_PORT" "PARLEY_SECRET" -}}
{{- range concat $v.extraEnv $values.extraEnv -}}
{{- if has .name $names -}}
{{- fail (printf "extraEnv or %s.extraEnv sets %s, which is already set (use redis for REDIS_URL, seal for PARLEY_SECRET, ports for ports)." $role .name) -}}
{{- end -}}
{{- if has .name (list "PARLEY_ALLOWED_HOSTS" "PARLEY_AUTH" "PARLEY_AUTH_NONE_ANYWHERE" "PARLEY_BLOCKED_KILL" "PARLEY_CONCURRENCY" "PARLEY_DRAIN_TIMEOUT" "PARLEY_MODULE_TIMEOUT" "PARLEY_REDIS_START_TIMEOUT" "PARLEY_SHUTDOWN_DELAY" "PARLEY_SHUTDOWN_TIMEOUT") -}}
{{- fail (printf "extraEnv or %s.extraEnv sets %s, on which other parts of the chart depend: set config.%s." $role .name .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $drain := int (include "parley.drainSeconds" $context) -}}
{{- with $values.terminationGracePeriodSeconds -}}
{{- if lt (int .) (add $drain 10 | int) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds is %d, but draining takes up to %d s: Kubernetes would kill the pod before it finishes. Set at least %d, or null." $role (int .) $drain (add $drain 10)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.server.autoscaling.enabled (not (dig "requests" "cpu" "" $v.server.resources)) -}}
{{- fail "server.autoscaling needs server.resources.requests.cpu, since it scales by a percentage of it." -}}
{{- end -}}
{{- if $v.server.autoscaling.enabled -}}
{{- range $target := list (list "heldCalls" "PARLEY_WAITS_MAX" 5000) (list "openStreams" "PARLEY_LISTENS_MAX" 10000) -}}
{{- $most := int (default (index $target 2) (get $v.config (index $target 1))) -}}
{{- if gt (int (get $v.server.autoscaling (index $target 0))) $most -}}
{{- fail (printf "server.autoscaling.%s is %d, but a front end holds only %d (%s): front ends would be full before another one starts." (index $target 0) (int (get $v.server.autoscaling (index $target 0))) $most (index $target 1)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $addresses := dict "redis.url" $v.redis.url "config.PARLEY_AUTH_ISSUERS" $v.config.PARLEY_AUTH_ISSUERS "config.PARLEY_PUBLIC_URL" $v.config.PARLEY_PUBLIC_URL -}}
{{- range $name, $addresses := $addresses -}}
{{- range regexSplit "[, ]+" (default "" $addresses) -1 -}}
{{- with regexFind "^(localhost|127\\.[0-9.]+|\\[::1\\])([:/?]|$)" (regexReplaceAll "^([a-z-]+://)?(.*@)?" . "") -}}
{{- fail (printf "%s has the host %s, where a pod reaches only itself: use a name that everyone who needs it can reach." $name (regexFind "^(\\[::1\\]|[^:/?]+)" .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if hasPrefix "dir:" (default "" $v.config.PARLEY_FILES) -}}
{{- $folder := printf "%s/" (trimPrefix "dir:" $v.config.PARLEY_FILES | clean) -}}
{{- range $role := list "server" "worker" -}}
{{- $mounted := false -}}
{{- range (index $v $role).extraVolumeMounts -}}
{{- if hasPrefix (printf "%s/" (clean .mountPath)) $folder -}}{{- $mounted = true -}}{{- end -}}
{{- end -}}
{{- if not $mounted -}}
{{- fail (printf "config.PARLEY_FILES is %s, but no volume that front ends and workers share is mounted there: add it to %s.extraVolumes and %s.extraVolumeMounts, or use s3://." $v.config.PARLEY_FILES $role $role) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if ne $v.worker.autoscaling.type "none" -}}
{{- $concurrency := int (default 50 $v.config.PARLEY_CONCURRENCY) -}}
{{- if gt (int $v.worker.autoscaling.runsPerWorker) $concurrency -}}
{{- fail (printf "worker.autoscaling.runsPerWorker is %d, but a worker takes only %d runs at once (PARLEY_CONCURRENCY): workers would be full before another one starts." (int $v.worker.autoscaling.runsPerWorker) $concurrency) -}}
{{- end -}}
{{- end -}}
{{- if $v.httpRoute.enabled -}}
{{- if not $v.httpRoute.parentRefs -}}{{- fail "httpRoute.parentRefs is empty: name the Gateway that the route attaches to." -}}{{- end -}}
{{- if not $v.httpRoute.hostnames -}}{{- fail "httpRoute.hostnames is empty: name the hosts that clients call. Parley serves only these." -}}{{- end -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.hosts is empty: name the hosts that clients call. Parley serves only these." -}}
{{- end -}}
{{- include "parley.referencesExist" . -}}
{{- end -}}

{{- /*
Checks that the Secrets and ConfigMaps that values name exist, if there is a cluster to ask (an install, not `helm template`). Pods would wait for
a missing one without a clear reason, and the doctor's first. Those that the release itself creates need the doctor to be disabled.
*/ -}}
{{- define "parley.referencesExist" -}}
{{- $namespace := .Release.Namespace -}}
{{- if and (or .Values.doctor.enabled (not .Values.extraObjects)) (lookup "v1" "ConfigMap" $namespace "kube-root-ca.crt") -}}
{{- $needed := list -}}
{{- if not .Values.redis.url -}}
{{- $needed = append $needed (dict "kind" "Secret" "name" (include "parley.redisSecret" .) "key" .Values.redis.existingSecret.key "for" "should hold the REDIS_URL" "create" true) -}}
{{- end -}}
{{- with .Values.seal.existingSecret -}}{{- if .name -}}
{{- $needed = append $needed (dict "kind" "Secret" "name" .name "key" .key "for" "should hold the PARLEY_SECRET" "create" true) -}}
{{- end -}}{{- end -}}
{{- with .Values.redis.ca -}}{{- if .configMap -}}
{{- $needed = append $needed (dict "kind" "ConfigMap" "name" .configMap "key" .key "for" "should hold the certificate authority of Redis (redis.ca)") -}}
{{- end -}}{{- end -}}
{{- $variables := dict "extraEnv" .Values.extraEnv "server.extraEnv" .Values.server.extraEnv "worker.extraEnv" .Values.worker.extraEnv -}}
{{- range $where, $entries := $variables -}}
{{- range $entries -}}
{{- $for := printf "%s names for %s" $where .name -}}
{{- with dig "valueFrom" "secretKeyRef" dict . -}}{{- $needed = append $needed (merge (dict "kind" "Secret" "for" $for) .) -}}{{- end -}}
{{- with dig "valueFrom" "configMapKeyRef" dict . -}}{{- $needed = append $needed (merge (dict "kind" "ConfigMap" "for" $for) .) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraEnvFrom -}}
{{- with .secretRef -}}{{- $needed = append $needed (merge (dict "kind" "Secret" "for" "extraEnvFrom names") .) -}}{{- end -}}
{{- with .configMapRef -}}{{- $needed = append $needed (merge (dict "kind" "ConfigMap" "for" "extraEnvFrom names") .) -}}{{- end -}}
{{- end -}}
{{- $volumes := dict "server.extraVolumes" .Values.server.extraVolumes "worker.extraVolumes" .Values.worker.extraVolumes -}}
{{- range $where, $entries := $volumes -}}
{{- range $entries -}}
{{- $for := printf "%s names" $where -}}
{{- with .secret -}}{{- $needed = append $needed (dict "kind" "Secret" "name" .secretName "optional" .optional "for" $for) -}}{{- end -}}
{{- with .configMap -}}{{- $needed = append $needed (dict "kind" "ConfigMap" "name" .name "optional" .optional "for" $for) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range $needed -}}
{{- if not (or .optional (empty .name)) -}}
{{- $found := lookup "v1" .kind $namespace .name -}}
{{- if not $found -}}
{{- $command := ternary (printf ": kubectl -n %s create secret generic %s --from-literal=%s=…" $namespace .name (toString .key)) "." (hasKey . "create") -}}
{{- fail (printf "there is no %s %s in namespace %s, which %s%s" .kind .name $namespace .for $command) -}}
{{- end -}}
{{- if and .key (not (hasKey (default dict $found.data) .key)) (not (hasKey (default dict $found.binaryData) .key)) -}}
{{- fail (printf "the %s %s in namespace %s has no key %q, which %s." .kind .name $namespace .key .for) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
