// tag::boot-flyway[]
package db.migration;

import org.flywaydb.core.api.migration.BaseJavaMigration;
import org.flywaydb.core.api.migration.Context;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.datasource.init.ScriptUtils;

/** A migration of Flyway that runs the script of Holdfast's jar. */
public class V1__Locks extends BaseJavaMigration {
  @Override
  public void migrate(Context context) {
    ScriptUtils.executeSqlScript(
        context.getConnection(), new ClassPathResource("io/holdfast/lock/jdbc/schema/h2.sql"));
  }
}
// end::boot-flyway[]
