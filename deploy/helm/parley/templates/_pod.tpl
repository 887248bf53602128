{{- /* The pod of a role. Roles differ in their ports, their volumes and their shutdown. */ -}}
{{- define "parley.pod" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- $values := index $root.Values $role -}}
{{- $probed := ternary "http" "operator" (eq $role "server") -}}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
serviceAccountName: {{ include "parley.serviceAccount" $root }}
automountServiceAccountToken: false
# Otherwise Kubernetes sets variables for the Service `parley`, such as PARLEY_PORT=tcp://10.0.0.1:80, which Parley would read as settings.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ default (add (include "parley.drainSeconds" .) 10) $values.terminationGracePeriodSeconds }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext: {{- include "parley.podSecurity" . | nindent 2 }}
topologySpreadConstraints:
{{- if kindIs "slice" $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "parley.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ $role }}
    # Without this, pods of the old version would be counted during a rollout.
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ $role }}
    image: {{ include "parley.image" $root | quote }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    args: [{{ $role }}]
    ports:
      {{- if eq $role "server" }}
      - name: http
        containerPort: {{ $root.Values.ports.http }}
      {{- end }}
      - name: operator
        containerPort: {{ $root.Values.ports.operator }}
    envFrom:
      - configMapRef:
          name: {{ include "parley.fullname" $root }}-settings
      {{- with $root.Values.extraEnvFrom }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    env:
      - name: REDIS_URL
        valueFrom:
          secretKeyRef:
            name: {{ include "parley.redisSecret" $root }}
            key: {{ ternary $root.Values.redis.existingSecret.key "url" (empty $root.Values.redis.url) }}
      {{- if eq $role "server" }}
      - name: PARLEY_PORT
        value: {{ $root.Values.ports.http | quote }}
      {{- end }}
      {{- with $root.Values.seal.existingSecret }}
      {{- if .name }}
      - name: PARLEY_SECRET
        valueFrom:
          secretKeyRef:
            name: {{ .name }}
            key: {{ .key }}
      {{- end }}
      {{- end }}
      - name: PARLEY_METRICS_PORT
        value: {{ $root.Values.ports.operator | quote }}
      {{- if $root.Values.redis.ca.configMap }}
      - name: NODE_EXTRA_CA_CERTS
        value: /etc/parley/redis-ca/{{ $root.Values.redis.ca.key }}
      {{- end }}
      {{- with concat $root.Values.extraEnv $values.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    startupProbe:
      httpGet: { path: /healthz, port: {{ $probed }} }
      periodSeconds: 1
      timeoutSeconds: 3
      failureThreshold: {{ include "parley.startupSeconds" . }}
    readinessProbe:
      httpGet: { path: /readyz, port: {{ $probed }} }
      periodSeconds: 5
      timeoutSeconds: 3
      failureThreshold: 2
    livenessProbe:
      httpGet: { path: /healthz, port: {{ $probed }} }
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: {{ include "parley.livenessFailures" . }}
    {{- if eq $role "server" }}
    {{- with $values.preStopSeconds }}
    lifecycle:
      # Nodes stop routing to this pod only some time after it starts to terminate. Keep serving until all of them have.
      preStop:
        sleep:
          seconds: {{ . }}
    {{- end }}
    {{- end }}
    resources: {{- toYaml $values.resources | nindent 6 }}
    securityContext: {{- include "parley.containerSecurity" . | nindent 6 }}
    volumeMounts: {{- include "parley.volumeMounts" . | nindent 6 }}
volumes: {{- include "parley.volumes" . | nindent 2 }}
{{- end -}}

{{- define "parley.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "parley.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "parley.volumeMounts" -}}
{{- $root := .root -}}
- name: tmp
  mountPath: /tmp
{{- if eq .role "worker" }}
- name: data
  mountPath: /data
{{- end }}
{{- if $root.Values.redis.ca.configMap }}
- name: redis-ca
  mountPath: /etc/parley/redis-ca
  readOnly: true
{{- end }}
{{- with (index $root.Values .role).extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "parley.volumes" -}}
{{- $root := .root -}}
{{- $values := index $root.Values .role -}}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- $own := list }}
{{- range $values.extraVolumes }}{{ $own = append $own .name }}{{ end }}
{{- if and (eq .role "worker") (not (has "data" $own)) }}
- name: data
  emptyDir:
    sizeLimit: 256Mi
{{- end }}
{{- with $root.Values.redis.ca.configMap }}
- name: redis-ca
  configMap:
    name: {{ . }}
{{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
