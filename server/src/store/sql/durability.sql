-- What the database promises by itself.
SELECT current_setting('server_version') AS server_version,
       current_setting('server_version_num') AS server_version_num,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS synchronous_standby_names
