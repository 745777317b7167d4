/** A dashboard as endpoint 4.1 returns it. */
export interface Dashboard {
  dashboard_id: string;
  title: string;
  description: string;
  workspace_id: string;
  dashboard_status: string;
  meta: Record<string, unknown>;
  configuration: Record<string, unknown>;
  is_public: boolean;
  created_by: string;
  modified_by: string;
  deleted_by: string;
  created_at: string;
  modified_at: string;
}
