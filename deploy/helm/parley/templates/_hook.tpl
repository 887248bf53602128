{{- /*
A Job that runs before an install or upgrade, and stops it by failing. Runs before any other object of the release exists, so it contains its own
copy of the settings. It has the variables and volumes of a role, since settings name files and secrets, and tools read variables when they load.

Takes root, role, name, args, events, weight, timeoutSeconds.
*/ -}}
{{- define "parley.hookJob" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- $values := index $root.Values $role -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "parley.fullname" $root }}-{{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "parley.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
  annotations:
    helm.sh/hook: {{ .events }}
    helm.sh/hook-weight: {{ .weight | quote }}
    # A failed job is kept so that its log can be read.
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: 1
  activeDeadlineSeconds: {{ .timeoutSeconds }}
  template:
    metadata:
      labels:
        # Not the labels of the release, so that no Service selects this pod.
        app.kubernetes.io/name: {{ include "parley.name" $root }}-{{ .name }}
        app.kubernetes.io/instance: {{ $root.Release.Name }}
    spec:
      restartPolicy: Never
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext: {{- include "parley.podSecurity" $root | nindent 8 }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "parley.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: {{- toYaml .args | nindent 12 }}
          {{- with $root.Values.extraEnvFrom }}
          envFrom: {{- toYaml . | nindent 12 }}
          {{- end }}
          env:
            - name: REDIS_URL
              valueFrom:
                secretKeyRef:
                  {{- if $root.Values.redis.url }}
                  name: {{ include "parley.fullname" $root }}-doctor
                  key: url
                  {{- else }}
                  name: {{ include "parley.redisSecret" $root }}
                  key: {{ $root.Values.redis.existingSecret.key }}
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
            {{- range $setting, $value := include "parley.settings" $root | fromYaml }}
            - name: {{ $setting }}
              value: {{ $value | quote }}
            {{- end }}
            - name: PARLEY_PORT
              value: {{ $root.Values.ports.http | quote }}
            - name: PARLEY_METRICS_PORT
              value: {{ $root.Values.ports.operator | quote }}
            {{- if $root.Values.redis.ca.configMap }}
            - name: NODE_EXTRA_CA_CERTS
              value: /etc/parley/redis-ca/{{ $root.Values.redis.ca.key }}
            {{- end }}
            {{- with concat $root.Values.extraEnv $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext: {{- include "parley.containerSecurity" $root | nindent 12 }}
          volumeMounts: {{- include "parley.volumeMounts" . | nindent 12 }}
      volumes: {{- include "parley.volumes" . | nindent 8 }}
{{- end -}}
